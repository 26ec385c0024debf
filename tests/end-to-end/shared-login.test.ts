// B08: two runs at once share one login whose refresh token is used up. The harness never opens the login, tries
// nothing again, logs nobody in, and keeps counts of what was said, no word of it.
import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { selfCommand } from "../../src/base/self.ts";
import { Report } from "../../src/contract/report.ts";
import { watchOpens } from "../support/open-watch.ts";
import { tempFolder } from "../support/temp-folder.ts";

const waitMs = 300_000;
const token = "rt_canary4711XhQzP0aV";
const said = `Failed to refresh token: 401 Unauthorized: refresh_token_reused, ${token} was already used`;

function program(path: string, body: string): string {
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o700);
  return path;
}

/** A Codex and an adapter that meet the used-up token, each noting how it was started. */
function plantPrograms(folder: string): string[] {
  const event = JSON.stringify({ type: "error", message: said });
  const codex = program(
    join(folder, "codex"),
    `echo "$1" >> ${folder}/codex-starts\n[ "$1" = --version ] && { echo codex-cli 0.171.0; exit 0; }\ncat > /dev/null\nprintf '%s\\n' '${event}'\necho '${said}' >&2\nexit 1`,
  );
  const node = program(join(folder, "node"), `echo started >> ${folder}/adapter-starts\necho '${said}' >&2\nexit 1`);
  mkdirSync(join(folder, "adapter/dist"), { recursive: true });
  writeFileSync(join(folder, "adapter/dist/index.js"), "// never read\n");
  const name = "@agentclientprotocol/codex-acp";
  writeFileSync(join(folder, "adapter/package.json"), JSON.stringify({ name, version: "2.1.1" }));
  const seats = ["--codex-path", codex, "--adapter-script", join(folder, "adapter/dist/index.js"), "--node-path", node];
  return [...seats, "--model-endpoint", "account", "--fixture", "typescript"];
}

test(
  "two runs with one used-up login fail by code and count, once each, and leave no part of what was said (B08)",
  async () => {
    await using dir = await tempFolder();
    const login = join(dir.path, "codex-home");
    mkdirSync(login, { mode: 0o700 });
    const auth = JSON.stringify({ tokens: { refresh_token: token } });
    writeFileSync(join(login, "auth.json"), auth, { mode: 0o600 });
    const words = plantPrograms(dir.path);
    const opens = watchOpens(login);

    const runs = await Promise.all(
      ["one", "two"].map(async (name) => {
        const { command, args } = selfCommand(["accept", "--output-dir", join(dir.path, name), ...words]);
        const env = {
          PATH: process.env["PATH"] ?? "",
          HOME: dir.path,
          CODEX_HOME: login,
          XDG_STATE_HOME: join(dir.path, "state"),
        };
        const child = Bun.spawn([command, ...args], {
          cwd: dir.path,
          env,
          stdin: "ignore",
          stdout: "pipe",
          stderr: "pipe",
        });
        const [stdout, stderr] = await Promise.all([
          new Response(child.stdout).text(),
          new Response(child.stderr).text(),
        ]);
        return { code: await child.exited, stdout, stderr };
      }),
    );

    expect(opens?.opened() ?? []).toEqual([]);
    opens?.close();
    expect(readFileSync(join(login, "auth.json"), "utf8")).toBe(auth);
    for (const { code, stdout, stderr } of runs) {
      const report = Report.parse(JSON.parse(stdout)) as Report & {
        consumer: Record<string, unknown>;
        managed: Record<string, unknown>;
      };
      expect([report.state, report.consumer.failure, code]).toEqual(["failed", "consumer_process_failed", 1]);
      const counts = expect.objectContaining({ refresh_token_reused: 1, failed_to_refresh_token: 1, http_401: 1 });
      expect(report.consumer["diagnostics"]).toMatchObject({ categories: counts });
      expect(report.consumer["stdout_diagnostics"]).toMatchObject({ categories: counts });
      expect(report.managed.passed).toBe(false);
      expect(report.managed["acp_audit"]).toMatchObject({ prompt_dispatches: 0, diagnostic_categories: counts });
      expect(stderr).toMatch(/\n {2}complaints {4}consumer: .*refresh_token_reused 1/);
      for (const text of [stdout, stderr])
        for (const part of [token, "already used"]) expect(text.includes(part)).toBe(false);
    }
    for (const name of ["one", "two"]) {
      const found = Bun.spawnSync(["grep", "-rlE", `${token}|already used`, join(dir.path, name)], {
        env: { PATH: "/usr/bin:/bin" },
      });
      expect(found.stdout.toString()).toBe("");
    }
    // Each run asked for the version once and for one turn; nothing was tried again and nobody was logged in.
    const starts = readFileSync(join(dir.path, "codex-starts"), "utf8").trim().split("\n");
    expect(starts.sort()).toEqual(["--version", "--version", "exec", "exec"]);
    expect(readFileSync(join(dir.path, "adapter-starts"), "utf8").trim().split("\n")).toEqual(["started", "started"]);
  },
  waitMs,
);
