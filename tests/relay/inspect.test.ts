import { expect, test } from "bun:test";
import { sha256Hex } from "../../src/base/bytes.ts";
import { Inspector } from "../../src/relay/inspect.ts";

const frame = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);
const options = (...list: unknown[]) => frame({ id: 1, result: { configOptions: list } });
const prompt = frame({ id: 2, method: "session/prompt", params: { prompt: [] } });

test("inspect() notes a prompt with the configuration seen last, empty before any (R006)", () => {
  const inspector = new Inspector();
  expect(inspector.inspect(prompt, "request")).toEqual([{ event: "prompt_dispatch", effective_config: {} }]);
  inspector.inspect(options({ id: "model", currentValue: "gpt-5" }), "response");
  expect(inspector.inspect(prompt, "request")).toEqual([
    { event: "prompt_dispatch", effective_config: { model: "gpt-5" } },
  ]);
});

test("inspect() counts a prompt only from the client (R008)", () => {
  expect(new Inspector().inspect(prompt, "response")).toEqual([]);
});

test("inspect() finds a prompt whose method is spelled with JSON escapes", () => {
  for (const method of ["session\\/prompt", "\\u0073ession/prompt", "session\\u002Fprompt", "session\\u002fprompt"]) {
    const bytes = Buffer.from(`{"id":1,"method":"${method}"}\n`);
    expect(new Inspector().inspect(bytes, "request")).toHaveLength(1);
  }
});

test("inspect() does not take a prompt's name inside other text for a prompt", () => {
  const bytes = frame({ method: "session/cancel", params: { note: "session/prompt" } });
  expect(new Inspector().inspect(bytes, "request")).toEqual([]);
});

test("inspect() keeps a listed identity, and only a digest of another (R009)", () => {
  const identity = (agentInfo: unknown) => new Inspector().inspect(frame({ result: { agentInfo } }), "response");
  expect(identity({ name: "codex-acp", version: "2.1.1" })).toEqual([
    { event: "adapter_identity", name: "codex-acp", version: "2.1.1" },
  ]);
  expect(identity({})).toEqual([{ event: "adapter_identity", name: "", version: "" }]);
  const free = "do what I say";
  expect(identity({ name: free, version: 7 })).toEqual([
    { event: "adapter_identity", name: { unlisted_sha256: sha256Hex(free) }, version: "" },
  ]);
});

test("inspect() keeps names of 100 and versions of 40 characters, one more only as digest (R009)", () => {
  const name = "n".repeat(100);
  const version = "1".repeat(40);
  const identity = (agentInfo: unknown) => new Inspector().inspect(frame({ result: { agentInfo } }), "response");
  expect(identity({ name, version })).toEqual([{ event: "adapter_identity", name, version }]);
  expect(identity({ name: `${name}n`, version: `${version}1` })).toEqual([
    {
      event: "adapter_identity",
      name: { unlisted_sha256: sha256Hex(`${name}n`) },
      version: { unlisted_sha256: sha256Hex(`${version}1`) },
    },
  ]);
});

test("inspect() keeps only model and effort, as text or boolean (R010)", () => {
  const seen = new Inspector().inspect(
    options(
      { id: "model", currentValue: "gpt-5.6-sol[xhigh]" },
      { id: "reasoning_effort", currentValue: true },
      { id: "mode", currentValue: "auto" },
      { id: "model_extra", currentValue: "x" },
      null,
      "model",
    ),
    "response",
  );
  expect(seen).toEqual([{ event: "config_observed", values: { model: "gpt-5.6-sol[xhigh]", reasoning_effort: true } }]);
  const others = options({ id: "model", currentValue: 5 }, { id: "reasoning_effort", currentValue: ["high"] });
  expect(new Inspector().inspect(others, "response")).toEqual([{ event: "config_observed", values: {} }]);
});

test("inspect() replaces the configuration as a whole (R011)", () => {
  const inspector = new Inspector();
  inspector.inspect(
    options({ id: "model", currentValue: "a" }, { id: "reasoning_effort", currentValue: "high" }),
    "response",
  );
  inspector.inspect(options({ id: "model", currentValue: "b" }), "response");
  expect(inspector.inspect(prompt, "request")).toEqual([
    { event: "prompt_dispatch", effective_config: { model: "b" } },
  ]);
});

test("inspect() reads results of the adapter only (R012)", () => {
  const inspector = new Inspector();
  const list = [{ id: "model", currentValue: "a" }];
  expect(inspector.inspect(options(...list), "request")).toEqual([]);
  expect(inspector.inspect(frame({ method: "session/update", params: { configOptions: list } }), "response")).toEqual(
    [],
  );
  expect(inspector.inspect(frame({ result: [{ configOptions: list }] }), "response")).toEqual([]);
  expect(inspector.inspect(prompt, "request")).toEqual([{ event: "prompt_dispatch", effective_config: {} }]);
});

test("inspect() leaves frames unread that are no JSON, no UTF-8 or no object (R013)", () => {
  const broken = [
    Buffer.from('{"method":"session/prompt"\n'),
    Buffer.from('["session/prompt"]\n'),
    Buffer.from('"session/prompt"\n'),
    Buffer.concat([Buffer.from('{"method":"session/prompt","x":"'), Buffer.from([0xff]), Buffer.from('"}\n')]),
  ];
  for (const bytes of broken) expect(new Inspector().inspect(bytes, "request")).toEqual([]);
});

test("inspect() reads each frame of a run by itself, past noise and Unicode line separators (B01, B10)", () => {
  const run = Buffer.concat([
    Buffer.from("Welcome back\r\n\n\x1b[1;32mmenu\x1b[0m\n"),
    Buffer.from('{"id":0,"result":{"note":"a\u2028b\u2029c\u0085","agentInfo":{"name":"x","version":"1"}}}\n'),
    Buffer.from('{"jsonrpc":"2.0",\n'),
    options({ id: "model", currentValue: "m" }),
  ]);
  expect(new Inspector().inspect(run, "response").map(({ event }) => event)).toEqual([
    "adapter_identity",
    "config_observed",
  ]);
});
