// `npm run conformance`: the official MCP conformance suite for each protocol version that has server scenarios, and
// the official Inspector for both eras, against a server process of its own. Installs the pinned clients into a cache
// folder on first use. A scenario that is expected to fail and passes is a failure too. Ends with `N passed`.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { selfCommand } from "../src/base/self.ts";
import { pinnedModules } from "./pinned.ts";

const root = `${import.meta.dir}/..`;
const fixture = `${root}/fixtures/mcp-clients`;
const modules = pinnedModules("mcp-clients");
const bearer = "bootstrap-token-of-the-conformance-run";
const versions = ["2025-06-18", "2025-11-25"];

async function startServer(folder: string) {
  const { command, args } = selfCommand(["server"]);
  const env = { HOME: folder, WEBCODEX_ADDR: "127.0.0.1:0", WEBCODEX_DATA: `${folder}/data`, WEBCODEX_TOKEN: bearer };
  const child = Bun.spawn([command, ...args], { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  for await (const part of child.stderr) {
    log += new TextDecoder().decode(part);
    const port = /"event":"listening","port":(\d+)/.exec(log)?.[1];
    if (port !== undefined) return { child, host: `127.0.0.1:${port}` };
  }
  throw new Error(`the server did not start: ${log}`);
}

/** The suite can send no token: this adds it, and passes everything else on, a foreign Host or Origin unchanged. */
function addBearer(host: string) {
  const proxy = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const own = `127.0.0.1:${proxy.port}`;
      const headers = new Headers(request.headers);
      headers.set("authorization", `Bearer ${bearer}`);
      const claimed = request.headers.get("host") ?? "";
      headers.set("host", [own, `localhost:${proxy.port}`].includes(claimed) ? host : claimed);
      const origin = request.headers.get("origin");
      if (origin !== null)
        headers.set("origin", origin.replace(/^http:\/\/(?:127\.0\.0\.1|localhost):\d+$/, `http://${host}`));
      const body = request.method === "GET" || request.method === "HEAD" ? null : await request.arrayBuffer();
      const url = `http://${host}${new URL(request.url).pathname}`;
      const answer = await fetch(url, { method: request.method, headers, body, redirect: "manual" });
      return new Response(answer.body, { status: answer.status, headers: answer.headers });
    },
  });
  return proxy;
}

async function run(words: readonly string[], folder: string): Promise<{ code: number; text: string }> {
  const child = Bun.spawn([process.execPath, ...words], {
    cwd: folder,
    env: { HOME: folder, PATH: process.env.PATH ?? "", NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 120_000,
  });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, text: `${out}\n${err}` };
}

let passed = 0;
let failed = 0;

function settle(ok: boolean, what: string, detail: string): void {
  if (ok) passed += 1;
  else failed += 1;
  process.stdout.write(`${ok ? "ok  " : "FAIL"} ${what}\n${ok ? "" : `${detail.slice(-4000)}\n`}`);
}

async function suite(url: string, folder: string): Promise<void> {
  const main = `${modules}/@modelcontextprotocol/conformance/dist/index.js`;
  for (const version of versions) {
    const expected = `${fixture}/expected-failures-${version}.yml`;
    const words = ["server", "--url", url, "--suite", "all", "--spec-version", version];
    const { code, text } = await run([main, ...words, "--expected-failures", expected], folder);
    const held = [...text.matchAll(/^✓ ([a-z0-9-]+): [1-9]\d* passed, 0 failed$/gm)].map((found) => found[1]!);
    for (const name of held) settle(true, `conformance ${version} ${name}`, "");
    settle(code === 0 && held.length > 0, `conformance ${version}: everything else is on the expected list`, text);
  }
}

async function inspector(host: string, folder: string): Promise<void> {
  const main = `${modules}/@modelcontextprotocol/inspector/clients/launcher/build/index.js`;
  const base = ["--cli", `http://${host}/mcp`, "--transport", "http", "--header", `Authorization: Bearer ${bearer}`];
  const call = (name: string, args: unknown) =>
    ["--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args)] as const;
  for (const era of ["legacy", "modern"]) {
    const ask = (words: readonly string[]) => run([main, ...base, "--protocol-era", era, ...words], folder);
    const listed = await ask(["--method", "tools/list"]);
    settle(
      listed.code === 0 &&
        ["read_files", "list_projects", "call_runtime_tool"].every((name) => listed.text.includes(`"${name}"`)),
      `inspector ${era}: lists the direct tools`,
      listed.text,
    );
    const projects = await ask(call("list_projects", {}));
    settle(
      projects.code === 0 && projects.text.includes('"projects"'),
      `inspector ${era}: calls a direct tool`,
      projects.text,
    );
    const goals = await ask(call("call_runtime_tool", { tool: "list_goals", arguments: {} }));
    settle(
      goals.code === 0 && goals.text.includes('"goals"'),
      `inspector ${era}: calls through the gateway`,
      goals.text,
    );
    const refused = await ask(call("call_runtime_tool", { tool: "get_goal", arguments: { goal_id: "wc_goal_x" } }));
    settle(refused.code === 5, `inspector ${era}: a refusal is isError`, `exit ${refused.code}\n${refused.text}`);
  }
}

const folder = mkdtempSync(join(tmpdir(), "proctor-conformance-"));
const { child, host } = await startServer(folder);
const proxy = addBearer(host);
try {
  writeFileSync(join(folder, "package.json"), "{}\n");
  await suite(`http://127.0.0.1:${proxy.port}/mcp`, folder);
  await inspector(host, folder);
} finally {
  await proxy.stop(true);
  child.kill("SIGINT");
  await child.exited;
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
