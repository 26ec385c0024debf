// The model stand-in: it plays its scenario, answers reviews and titles itself, and refuses a wrong scenario by place.
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import type { Scenario } from "../../src/contract/responses.ts";
import { openModel } from "../../src/standins/model.ts";
import { judgeScenario, loadScenario, scenarioNames } from "../../src/standins/scenario.ts";
import { tempFolder } from "../support/temp-folder.ts";

const scenario: Scenario = {
  turns: [
    { when: "needle", items: [{ call: "read_files", namespace: "mcp__bidirectional", args: { a: 1 } }] },
    { items: [{ say_key_values: true }] },
    { items: [], fail: { status: 500, message: "scripted" } },
  ],
  fallback: "over",
};

async function ask(port: number, body: object) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/responses`, { method: "POST", body: JSON.stringify(body) });
  return { status: response.status, text: await response.text() };
}

test("openModel() plays turns in order, by text, and then its fallback", async () => {
  await using model = openModel({ scenario, gate: null });

  const values = await ask(model.port, { model: "m", input: "out: ALPHA=before\\nBETA=keep" });
  const call = await ask(model.port, { model: "m", input: "needle" });
  const failed = await ask(model.port, { model: "m" });
  const rest = await ask(model.port, { model: "m" });

  expect(values.text).toContain('{\\"ALPHA\\":\\"before\\",\\"BETA\\":\\"keep\\"}');
  expect(call.text).toContain('"namespace":"mcp__bidirectional"');
  expect(call.text).toContain("event: response.completed");
  expect(failed.status).toBe(500);
  expect(rest.text).toContain("over");
});

test("openModel() answers review and title requests without using up a turn", async () => {
  await using model = openModel({ scenario, gate: null });
  const wanting = (name: string) => ({ text: { format: { schema: { properties: { [name]: {} } } } } });

  expect((await ask(model.port, wanting("outcome"))).text).toContain('\\"outcome\\":\\"allow\\"');
  expect((await ask(model.port, wanting("title"))).text).toContain("Scripted task");
  expect((await ask(model.port, { input: "needle" })).text).toContain("read_files");
});

test("openModel() answers a WebSocket attempt with 426 and other paths with 404", async () => {
  await using model = openModel({ scenario, gate: null });
  const base = `http://127.0.0.1:${model.port}/v1`;

  const upgrade = await fetch(`${base}/responses`, { headers: { connection: "Upgrade", upgrade: "websocket" } });
  expect(upgrade.status).toBe(426);
  expect((await fetch(`${base}/models`)).status).toBe(404);
});

test("every built-in scenario follows the format", () => {
  for (const name of scenarioNames) expect(loadScenario(name).valid).toBe(true);
});

test("judgeScenario() names the first wrong place", () => {
  expect(judgeScenario({ turns: [] })).toMatchObject({ valid: false, where: expect.stringContaining("turns") });
  expect(judgeScenario({ turns: [{ items: [{ nonsense: 1 }] }] })).toMatchObject({
    valid: false,
    where: expect.stringContaining("turns.0.items.0"),
  });
});

test("loadScenario() refuses a file that is no JSON", async () => {
  await using dir = await tempFolder();
  writeFileSync(`${dir.path}/s.json`, "not json");

  expect(() => loadScenario(`${dir.path}/s.json`)).toThrow("standin_scenario_unreadable");
  expect(() => loadScenario(`${dir.path}/absent.json`)).toThrow("standin_scenario_unreadable");
});
