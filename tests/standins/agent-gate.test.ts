// A gated turn is held until its file exists, so that a run is in flight for as long as the test wants.
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { holdsWithin } from "../../src/base/clock.ts";
import { runAgent } from "../../src/standins/acp-agent.ts";
import { tempFolder } from "../support/temp-folder.ts";

test("runAgent() edits nothing before the gate file exists and ends its turn after it does", async () => {
  await using dir = await tempFolder();
  const source = `${dir.path}/clamp.ts`;
  writeFileSync(source, "before\n");
  const written: string[] = [];
  const input = new TransformStream<Uint8Array, Uint8Array>();
  const writer = input.writable.getWriter();
  const send = (id: number, method: string, params: object) =>
    writer.write(new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`));
  const done = runAgent({
    input: input.readable,
    complain: () => undefined,
    mark: "",
    write: (text) => void written.push(text),
    version: "0",
    misbehave: "honest",
    gate: `${dir.path}/gate`,
    paceMs: 0,
    python: null,
    path: "/usr/bin:/bin",
    tempFolder: { make: () => dir.path, remove: () => undefined },
    executable: process.execPath,
    exit: () => {
      throw new Error("the honest agent does not exit");
    },
  });
  await send(1, "session/new", { cwd: dir.path });
  await send(2, "session/prompt", {});
  const shows = (text: string) => written.join("").includes(text);

  expect(await holdsWithin(() => shows("Reading the tests"), { withinMs: 30_000 })).toBe(true);
  expect(await Bun.file(source).text()).toBe("before\n");
  writeFileSync(`${dir.path}/gate`, "");
  expect(await holdsWithin(() => shows("end_turn"), { withinMs: 40_000 })).toBe(true);
  expect(await Bun.file(source).text()).toContain("export function clamp");
  await writer.close();
  expect(await done).toBe(0);
});
