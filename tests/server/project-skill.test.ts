// Skill definitions: written by a real Runner where the file is as the caller saw it, and told honestly where the
// Runner cannot be asked or does not answer.
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { sha256Hex } from "../../src/base/bytes.ts";
import { Secret } from "../../src/base/secret.ts";
import { serverLimits } from "../../src/server/limits.ts";
import type { RunnerAnswer } from "../../src/server/runner-registry.ts";
import { openServer } from "../../src/server/server.ts";
import { ControlPair } from "../support/control-pair.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { annsRunner, project } from "./anns-runner.ts";
import { bootstrap, type Json, post } from "./served.ts";

test("write_project_skill writes one definition through the Runner, only over what the caller saw (O183)", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "say" });
  await pair.start();
  const folder = `${dir.path}/project/.agents/skills`;
  const write = (more: Json) =>
    pair.call("write_project_skill", { project: "agent:box:fixture", name: "review", ...more });

  const made = await write({ text: "# One\n", absent: true });
  const blind = await write({ text: "# Two\n", absent: true });
  const changed = await write({ text: "# Two\n", expected_sha256: sha256Hex("# One\n") });
  writeFileSync(`${folder}/review/SKILL.md`, "# By hand\n");
  const stale = await write({ text: "# Three\n", expected_sha256: sha256Hex("# Two\n") });
  mkdirSync(`${dir.path}/outside`);
  symlinkSync(`${dir.path}/outside`, `${folder}/away`);
  const outside = await write({ name: "away", text: "# Out\n", absent: true });
  const upward = await write({ name: "../up", text: "# Out\n", absent: true });

  expect(made.output).toEqual({
    project: "agent:box:fixture",
    path: ".agents/skills/review/SKILL.md",
    sha256: sha256Hex("# One\n"),
    state_changed: true,
  });
  expect(blind.output).toMatchObject({ error_kind: "skill_conflict", current_sha256: sha256Hex("# One\n") });
  expect(changed.output.sha256).toBe(sha256Hex("# Two\n"));
  expect(stale.output).toMatchObject({ error_kind: "skill_conflict", current_sha256: sha256Hex("# By hand\n") });
  expect(readFileSync(`${folder}/review/SKILL.md`, "utf8")).toBe("# By hand\n");
  expect(outside.output).toMatchObject({ error_kind: "skill_not_written", reason_code: "invalid_path" });
  expect(await Bun.file(`${dir.path}/outside/SKILL.md`).exists()).toBe(false);
  expect(upward.error).toMatch(/^Invalid arguments/);
});

test("write_project_skill asks for project:write, a precondition and a bounded text, and never guesses an outcome", async () => {
  await using dir = await tempFolder();
  let answer: RunnerAnswer = { outcome: "offline" };
  let asked = 0;
  const server = await openServer({
    address: "127.0.0.1:0",
    dataFolder: `${dir.path}/data`,
    bootstrap: Secret.from(bootstrap),
    openLink: () =>
      annsRunner(async () => {
        asked += 1;
        return answer;
      }),
  });
  const write = async (params: Json, token?: string) => {
    const body = { tool: "write_project_skill", params: { project, name: "review", text: "t", ...params } };
    return await post(`${server.url}/api/tools/call`, body, token);
  };
  await post(`${server.url}/api/users/create`, { username: "ann" });
  const reader = (await post(`${server.url}/api/tokens/create`, { username: "ann", scopes: ["project:read"] })).token;
  const most = "x".repeat(serverLimits.maxSkillBytes);

  const refused = [
    await write({ absent: true }, reader),
    await write({}),
    await write({ absent: true, expected_sha256: "a".repeat(64) }),
    await write({ absent: true, text: `${most}x` }),
    await write({ absent: true, name: "Upper" }),
  ];
  const before = asked;
  const told: Json[] = [];
  for (const next of [
    { outcome: "offline" },
    { outcome: "timeout" },
    { outcome: "lost" },
    { outcome: "answered", result: { reason_code: "io_error" } },
    { outcome: "answered", result: { reason_code: "permission_denied" } },
    { outcome: "answered", result: { reason_code: "conflict", sha256: "too long to say" } },
    { outcome: "answered", result: { file: { sha256: "b".repeat(64) } } },
    { outcome: "answered", result: { file: { sha256: sha256Hex(most) } } },
  ] as const satisfies RunnerAnswer[]) {
    answer = next;
    told.push((await write({ absent: true, text: most })).output);
  }
  await server.close();

  expect(refused[0]).toMatchObject({ error: "missing required scope: project:write" });
  expect(refused.slice(1).every((one) => /^Invalid arguments/.test(one.error))).toBe(true);
  expect(before).toBe(0);
  expect(told.map((one) => [one.error_kind ?? "written", one.state_changed])).toEqual([
    ["agent_unavailable", false],
    ["skill_write_uncertain", null],
    ["skill_write_uncertain", null],
    ["skill_write_uncertain", null],
    ["skill_not_written", false],
    ["skill_conflict", false],
    ["skill_write_uncertain", null],
    ["written", true],
  ]);
});
