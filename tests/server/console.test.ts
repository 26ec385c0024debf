// The console page: what it may do by its own policy, what its list of runs shows to whom, and how it looks and reads
// in a real Chromium with a real server, Runner and run behind it. Without a Chromium the last test skips.
import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { browserPath, openBrowser } from "../support/browser.ts";
import { ControlPair, patScopes } from "../support/control-pair.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { localServer } from "./local-server.ts";

const project = "agent:box:fixture";

test("GET /console is one page without a secret, a link or a request elsewhere, under a policy that fits it exactly", async () => {
  await using server = await localServer();

  const answer = await fetch(`${server.url}/console`);
  const html = await answer.text();
  const policy = answer.headers.get("content-security-policy") ?? "";
  const hashOf = (tag: string) => {
    const text = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(html)?.[1] ?? "";
    return `'sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}'`;
  };
  const refused = [
    await fetch(`${server.url}/console?token=x`),
    await fetch(`${server.url}/console`, { headers: { origin: "https://evil.example" } }),
    await fetch(`${server.url}/console`, { headers: { host: "evil.example" } }),
  ];

  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(policy).toStartWith("default-src 'none'; ");
  expect(policy).toContain(`script-src ${hashOf("script")};`);
  expect(policy).toContain(`style-src ${hashOf("style")};`);
  expect(policy).not.toContain("unsafe");
  expect(policy).toContain("connect-src 'self'");
  expect(html).not.toMatch(/https?:|\/\/[a-z]|\son[a-z]+=|style=|localStorage|sessionStorage|cookie|innerHTML|eval/);
  expect(answer.headers.get("set-cookie")).toBeNull();
  expect(refused.map((one) => one.status)).toEqual([400, 403, 403]);
});

test("the list of runs shows the caller's own with what is known now, and needs coding_agent:run", async () => {
  await using dir = await tempFolder();
  await using pair = new ControlPair(dir.path, { play: "hang" });
  await pair.start();
  const { attempt_ref, task_id } = await pair.attempt();
  const runId = (await pair.startRun(attempt_ref)).output.run_id as string;
  await pair.observeUntil(runId, (output) => output.execution_state === "started");
  await pair.post("/api/users/create", { username: "bob" });
  const bob = (await pair.post("/api/tokens/create", { username: "bob", scopes: patScopes })).token as string;
  const poor = (await pair.post("/api/tokens/create", { username: "ann", scopes: ["runtime:read"] })).token as string;
  const list = (token: string, body = {}) => pair.post("/api/runtime-console/runs", body, token);

  const own = await list(pair.pat);
  const foreign = await list(bob);
  const refused = await list(poor);
  const wrong = await list(pair.pat, { limit: 201 });
  await pair.runner!.stop({ firstSignal: "SIGINT", termMs: 15_000 });
  await pair.server!.stop({ firstSignal: "SIGINT" });
  await pair.startServer();
  const later = await list(pair.pat);

  expect(own).toMatchObject({
    truncated: false,
    runs: [{ run_id: runId, task_id, project, provider_id: "fixture", state: "running", live: true }],
  });
  expect(foreign).toEqual({ runs: [], truncated: false });
  expect(refused.error).toBe("missing required scope: coding_agent:run");
  expect(wrong.error).toBe("invalid run query");
  expect(later.runs).toMatchObject([{ run_id: runId, live: false, dispatch_state: "bound" }]);
}, 120_000);

// A phone in the light is looked at while the run ends; PROCTOR_BROWSER=1 adds the two other combinations.
const views = [{ width: 1280, dark: true }];
if (process.env.PROCTOR_BROWSER === "1") views.push({ width: 390, dark: true }, { width: 1280, dark: false });

/** Gives the token to the page once, as a person would, and says whether the page shows the text. */
function signedIn(token: string, text: string): string {
  return `(() => {
    const field = document.getElementById("token");
    if (document.body.dataset.given === undefined) {
      document.body.dataset.given = "yes";
      field.value = ${JSON.stringify(token)};
      document.getElementById("enter").requestSubmit();
    }
    const desk = document.getElementById("desk");
    return !desk.hidden && desk.innerText.includes(${JSON.stringify(text)});
  })()`;
}

test.skipIf(browserPath === null)(
  "the page shows live state at 390 px and 1280 px, light and dark, accessible and without an error",
  async () => {
    await using dir = await tempFolder();
    await using pair = new ControlPair(dir.path, { play: "hang" });
    await pair.start();
    const opened = await pair.call("work_on_project", { project, instruction: "Mend the clamp <b>function</b>" });
    const report = { project, session_id: opened.output.session_id, adapter_id: "a".repeat(64), observed_tool: "Bash" };
    await pair.call("record_external_observation", { ...report, event_id: "b".repeat(64), exit_code: 0 });
    const { attempt_ref } = await pair.attempt();
    const runId = (await pair.startRun(attempt_ref)).output.run_id as string;
    await using browser = await openBrowser();
    const url = `${pair.url}/console`;
    const shots = process.env.PROCTOR_SCREENSHOTS;
    if (shots !== undefined) mkdirSync(shots, { recursive: true });

    const look = (view: { width: number; dark: boolean }, text: string) => {
      const file = `${shots}/console-${view.width}${view.dark ? "-dark" : ""}.png`;
      const shot = shots === undefined ? {} : { screenshot: file };
      return browser.look(url, [{ ...view, ...shot }], signedIn(pair.pat, text));
    };
    const refused = 'document.getElementById("message").innerText.includes("not accepted")';
    const [closed] = await browser.look(url, [{ width: 390 }], `${signedIn("wc_pat_wrong", "x")} || ${refused}`);
    const seen = [];
    for (const view of views) seen.push(...(await look(view, "running")));
    // The page is open while the run ends: it shows the end without being loaded again.
    const live = look({ width: 390, dark: false }, "cancelled");
    await pair.call("cancel_coding_agent", { run_id: runId });
    seen.push(...(await live));

    for (const one of seen)
      expect({ sideways: one.sideways, violations: one.violations, errors: one.errors }).toEqual({
        sideways: 0,
        violations: [],
        errors: [],
      });
    // Chromium itself notes the refused request of a wrong token.
    expect([closed!.violations, closed!.sideways]).toEqual([[], 0]);
    expect(closed!.text).not.toContain("Sessions");
    for (const one of seen) {
      expect(one.text).toContain("Mend the clamp <b>function</b>");
      expect(one.text).toContain("reported success");
      expect(one.text).toContain(runId);
    }
  },
  400_000,
);
