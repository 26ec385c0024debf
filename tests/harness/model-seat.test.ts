// The scripted model's seat: who needs it, the configuration it writes, and that it is held by a gate and ended.
import { expect, test } from "bun:test";
import { existsSync, lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "../../src/base/bytes.ts";
import { processEnvironment } from "../../src/base/self.ts";
import { realAdapterName } from "../../src/contract/report.ts";
import {
  configFile,
  modelFlags,
  modelSeat,
  needsModel,
  openGate,
  startModel,
  stopModel,
} from "../../src/harness/model-seat.ts";
import type { AcceptOptions, Run } from "../../src/harness/run.ts";
import { createWorkspace } from "../../src/harness/workspace.ts";
import { auditFacts } from "../../src/judge/audit.ts";
import { tempFolder } from "../support/temp-folder.ts";

const options = (given: Partial<AcceptOptions>) => given as AcceptOptions;
const self = { version: "0", path: "/p", sha256: "0".repeat(64) };

test("only real programs without an account need the scripted model", () => {
  expect(needsModel(options({ account: false }))).toBe(false);
  expect(needsModel(options({ account: false, codexPath: "/c" }))).toBe(true);
  expect(needsModel(options({ account: false, adapterScript: "/a" }))).toBe(true);
  expect(needsModel(options({ account: true, codexPath: "/c", adapterScript: "/a" }))).toBe(false);
  expect(modelSeat(options({ account: false }), self)).toBeNull();
  expect(modelSeat(options({ account: false, codexPath: "/c" }), self)?.kind).toBe("standin");
});

test("the configuration is TOML with the scripted provider, no key, and nothing that calls out", () => {
  expect(Bun.TOML.parse(configFile("http://127.0.0.1:9/v1"))).toEqual({
    model: "gpt-5.6-luna",
    model_reasoning_effort: "medium",
    model_provider: "scripted",
    model_providers: {
      scripted: {
        name: "scripted",
        base_url: "http://127.0.0.1:9/v1",
        wire_api: "responses",
        requires_openai_auth: false,
        supports_websockets: false,
        request_max_retries: 0,
        stream_max_retries: 0,
      },
    },
    analytics: { enabled: false },
    features: { plugins: false },
  });
});

test("the endpoint answers while it is needed, the gate is made once, and nothing stays behind", async () => {
  await using folder = await tempFolder();
  const space = createWorkspace(folder.path);
  const path = { PATH: processEnvironment()["PATH"] ?? "" };
  const run = {
    options: options({ account: false, codexPath: "/c" }),
    limits: { readinessMs: 45_000, stopTermMs: 10_000, stopKillMs: 2_000 },
    env: { ...path, HOME: space.home },
    space,
    census: { note: () => undefined },
    services: { model: null },
  } as unknown as Run;
  try {
    await startModel(run, "typescript");
    const config = join(space.codexHome, "config.toml");
    const { baseUrl = "" } = run.services.model ?? {};
    expect(lstatSync(config).mode & 0o777).toBe(0o600);
    expect(readFileSync(config, "utf8")).toBe(configFile(baseUrl));
    expect(modelFlags(run).join(" ")).toContain(`base_url="${baseUrl}"`);
    const answer = await fetch(`${baseUrl}/responses`, { method: "POST", body: "{}" });
    expect(await answer.text()).toContain("response.completed");
    openGate(run);
    openGate(run);
    expect(existsSync(join(space.private, "turn-gate"))).toBe(true);
  } finally {
    await stopModel(run);
  }
  expect(run.services.model?.group.running()).toBe(false);
}, 120_000);

test("the real adapter's name is known by the digest the relay keeps of it; another digest is not", () => {
  const named = (name: string) => [
    { event: "adapter_identity", name: { unlisted_sha256: sha256Hex(name) }, version: "2.1.1" },
  ];
  const whole = { sha256: "0".repeat(64), intact: true };
  expect(auditFacts(named(realAdapterName), whole).identities).toEqual([{ name: realAdapterName, version: "2.1.1" }]);
  expect(auditFacts(named(`${realAdapterName}x`), whole).identities).toEqual([{ name: "", version: "2.1.1" }]);
});
