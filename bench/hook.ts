// Bar: `hook observe --deliver background` with no server against a compiled program that appends and fsyncs, against
// Python importing what the reference hook imports (an empty program and node stand beside), and a slow or odd server
// against a healthy one.
import { chmodSync, mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { observeWords } from "../src/hooks/host-config.ts";
import {
  type BenchRow,
  compileFloor,
  inFolder,
  interleave,
  median,
  proctor,
  row,
  spreadOf,
  timeProgram,
} from "./measure.ts";

const appendSource = `import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
const fd = openSync(process.argv[2]!, "a", 0o600);
writeSync(fd, readFileSync(0));
fsyncSync(fd);
closeSync(fd);
`;

interface Place {
  readonly configPath: string;
  readonly state: string;
  readonly payload: () => string;
}

/** A configuration of its own for one server address. */
function placeAt(folder: string, name: string, serverUrl: string): Place {
  const root = `${realpathSync(folder)}/${name}`;
  const [project, state] = [`${root}/project`, `${root}/state`];
  for (const one of [root, project, state]) mkdirSync(one, { mode: 0o700 });
  writePrivate(`${root}/auth`, "Bearer bench\n");
  const config = {
    server_url: serverUrl,
    authorization_file: `${root}/auth`,
    project: "agent:bench:project",
    project_root: project,
    workflow_session_id: "wc_sess_bench",
    local_session_id: "local-bench",
    state_dir: state,
  };
  writePrivate(`${root}/config.json`, JSON.stringify(config));
  let call = 0;
  const payload = () =>
    JSON.stringify({
      hook_event_name: "PostToolUse",
      session_id: "local-bench",
      cwd: project,
      tool_use_id: `call-${call++}`,
      tool_name: "Bash",
    });
  return { configPath: `${root}/config.json`, state, payload };
}

function writePrivate(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
  chmodSync(path, 0o600);
}

const flushMs = 150;

function timeHook(place: Place): number {
  // What `hook config` prints and a host starts, /usr/bin/env and all.
  const command = observeWords(proctor, place.configPath);
  const elapsed = timeProgram(command, { stdin: place.payload(), env: {} });
  // Its detached flush ends before the next program starts, or at a slow server it is waiting by then.
  Bun.sleepSync(flushMs);
  // What nobody takes would fill the outbox, and a full one refuses.
  const left = readdirSync(place.state).filter((name) => /^[0-9a-f]{64}\./.test(name));
  if (left.length > 100) for (const name of left) rmSync(`${place.state}/${name}`, { force: true });
  return elapsed;
}

export async function bench(): Promise<BenchRow[]> {
  return await inFolder(async (folder) => {
    const floor = compileFloor(folder, appendSource, "append");
    const empty = compileFloor(folder, "", "empty");
    const node = Bun.which("node");
    const down = placeAt(folder, "down", "http://127.0.0.1:1");
    const python = pythonItself();
    const times = interleave(
      {
        floor: () => timeProgram([floor, `${folder}/appended`], { stdin: down.payload() }),
        hook: () => timeHook(down),
        empty: () => timeProgram([empty]),
        ...(node === null ? {} : { node: () => timeProgram([node, "-e", "0"]) }),
        ...(python === null ? {} : { python: () => timeProgram([python, "-c", "import json, urllib.request"]) }),
      },
      42,
    );
    return [againstFloor(times), ...againstPython(times), await againstServers(folder)];
  });
}

/** The interpreter itself: a version manager's launcher in front of it would flatter the hook. */
function pythonItself(): string | null {
  const found = Bun.which("python3");
  if (found === null) return null;
  return Bun.spawnSync([found, "-c", "import sys; print(sys.executable)"]).stdout.toString().trim();
}

function againstFloor(times: Record<string, number[]>): BenchRow {
  return row({
    bar: "`hook observe`, saved, no server",
    floor: `compiled append and fsync, ${median(times["floor"]!).toFixed(1)} ms`,
    value: `${median(times["hook"]!).toFixed(1)} ms`,
    ratio: median(times["hook"]!) / median(times["floor"]!),
    limit: 2.5,
    sense: "at most",
    spread: `${spreadOf(times["hook"]!, 1)} ms`,
  });
}

function againstPython(times: Record<string, number[]>): BenchRow[] {
  if (times["python"] === undefined) return [];
  // What is possible at all: a compiled program that does nothing but append and sync, against the same Python.
  const least = (median(times["floor"]!) / median(times["python"])).toFixed(2);
  const besides = ["empty", "node"].flatMap((name) =>
    times[name] === undefined ? [] : [`${name} ${median(times[name]).toFixed(1)} ms`],
  );
  return [
    row({
      bar: "`hook observe` against Python's imports",
      floor: `python3 importing json and urllib.request, ${median(times["python"]).toFixed(1)} ms; append and fsync alone: ${least}; ${besides.join(", ")}`,
      value: `${median(times["hook"]!).toFixed(1)} ms`,
      ratio: median(times["hook"]!) / median(times["python"]),
      limit: 0.25,
      sense: "at most",
      spread: `${spreadOf(times["hook"]!, 1)} ms`,
    }),
  ];
}

const serverSource = `const kind = process.argv[2];
const server = Bun.serve({ hostname: "127.0.0.1", port: 0, async fetch(request) {
  if (kind === "slow") await Bun.sleep(3000);
  if (kind !== "healthy") return new Response("<html></html>", { headers: { "content-type": "text/html" } });
  const { params } = await request.json();
  return Response.json({ success: true, output: { session_id: params.session_id, project: params.project,
    provenance: "external_report", observation: { adapter_id: params.adapter_id, event_id: params.event_id,
    tool: params.observed_tool, exit_code: null } } });
} });
console.log(server.port);
`;

/** Servers are processes of their own: timing is synchronous and would keep one of this process from answering. */
async function againstServers(folder: string): Promise<BenchRow> {
  const path = `${folder}/server.ts`;
  writeFileSync(path, serverSource);
  const servers = ["healthy", "slow", "html"].map((kind) => ({
    kind,
    child: Bun.spawn([process.execPath, path, kind], { stdin: "ignore", stdout: "pipe", stderr: "ignore" }),
  }));
  try {
    const programs: Record<string, () => number> = {};
    for (const { kind, child } of servers) {
      const first = await child.stdout.getReader().read();
      const place = placeAt(folder, kind, `http://127.0.0.1:${new TextDecoder().decode(first.value).trim()}`);
      programs[kind] = () => timeHook(place);
    }
    const down = placeAt(folder, "down-again", "http://127.0.0.1:1");
    programs["down"] = () => timeHook(down);
    return worstServer(interleave(programs, 22));
  } finally {
    for (const { child } of servers) {
      child.kill();
      await child.exited;
    }
  }
}

function worstServer(times: Record<string, number[]>): BenchRow {
  const healthy = median(times["healthy"]!);
  const ill = Object.keys(times).filter((kind) => kind !== "healthy");
  const [worst] = ill.sort((a, b) => median(times[b]!) - median(times[a]!));
  return row({
    bar: "`hook observe`, server down, slow or odd",
    floor: `healthy server, ${healthy.toFixed(1)} ms`,
    value: `${median(times[worst!]!).toFixed(1)} ms (${worst})`,
    ratio: median(times[worst!]!) / healthy,
    limit: 2,
    sense: "at most",
    spread: `${spreadOf(times[worst!]!, 1)} ms`,
  });
}
