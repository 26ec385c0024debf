// The real Codex on the stand-in model. Runs with PROCTOR_LIVE=1 only, after `npm run accept:real` or an install of
// fixtures/real-clients into .cache/real-clients.
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { runProgram } from "../../src/base/run-program.ts";
import { openModel } from "../../src/standins/model.ts";
import { loadScenario } from "../../src/standins/scenario.ts";
import { projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

const codex = `${projectRoot}.cache/real-clients/node_modules/.bin/codex`;

test.skipIf(process.env.PROCTOR_LIVE !== "1")(
  "the real Codex plays the managed errand of acceptance-python and really edits clamp.py",
  async () => {
    await using dir = await tempFolder();
    const [project, home, temp] = ["project", "home", "tmp"].map((name) => `${dir.path}/${name}`) as [
      string,
      string,
      string,
    ];
    for (const folder of [project, home, temp]) mkdirSync(folder);
    writeFileSync(`${project}/clamp.py`, "def clamp(value, lower, upper):\n    raise NotImplementedError\n");
    writeFileSync(`${project}/test_clamp.py`, "import unittest\n");
    const loaded = loadScenario("acceptance-python");
    if (!loaded.valid) throw new Error(loaded.where);
    await using model = openModel({ scenario: loaded.scenario, gate: null });
    const provider = `model_providers={scripted={name="scripted",base_url="http://127.0.0.1:${model.port}/v1",wire_api="responses",requires_openai_auth=false,request_max_retries=0,stream_max_retries=0}}`;

    const result = await runProgram({
      command: codex,
      args: [
        ...["exec", "--ignore-user-config", "--strict-config", "--skip-git-repo-check", "--sandbox", "workspace-write"],
        ...["--ephemeral", "--json", "--model", "gpt-5.6-luna", "--config", 'model_provider="scripted"'],
        ...["--config", provider, "--config", "analytics.enabled=false", "--config", "features.plugins=false"],
        ...["--cd", project, "-"],
      ],
      cwd: project,
      env: { PATH: process.env.PATH ?? "", HOME: home, CODEX_HOME: home, TMPDIR: temp },
      stdin: "Implement clamp",
      timeoutMs: 60_000,
      maxOutputBytes: 8 * 1024 * 1024,
    });

    expect(new TextDecoder().decode(result.stdout)).toContain('"type":"turn.completed"');
    expect(result.code).toBe(0);
    expect(readFileSync(`${project}/clamp.py`, "utf8")).toContain("raise ValueError");
  },
  120_000,
);
