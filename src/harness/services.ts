// Server and runner as the harness starts them: explicit environment, empty stdin, one private log a launch.
import { closeSync } from "node:fs";
import { join } from "node:path";
import { listeningPorts } from "../base/census.ts";
import { codeOf, Failure } from "../base/failure.ts";
import { isRecord } from "../base/json.ts";
import { openPrivateLog } from "../base/private-files.ts";
import type { ProcessGroup } from "../base/process-group.ts";
import { startNoted } from "../base/start-gate.ts";
import type { HarnessCode } from "./codes.ts";
import { harnessLimits } from "./limits.ts";
import { isTransportFault, Operator } from "./operator.ts";
import { notePrinted } from "./printed.ts";
import type { Run } from "./run.ts";
import type { Program } from "./seats.ts";

/** Starts one service; its log is registered for clean-up before there is a process. */
export function launch(
  run: Run,
  name: "webcodex-server" | "webcodex-runner",
  options: { program: Program; args: readonly string[]; env: Record<string, string> },
): ProcessGroup {
  if (run.closing) throw new Failure<HarnessCode>("harness_interrupted");
  const path = join(run.space.private, `${name}-${run.services.logs.length}.log`);
  const log = openPrivateLog(path);
  run.services.logs.push(path);
  try {
    const { program, args, env } = options;
    const pause = run.fault?.arm(name) ?? null;
    const group = startNoted(
      {
        command: program.command,
        args: [...program.args, ...args],
        cwd: run.space.root,
        env: { ...env, ...pause },
        ...(pause === null ? {} : { extra: ["pipe"] }),
        stdin: "ignore",
        stdout: log,
        stderr: log,
      },
      (id) => run.census.note(id, name),
    );
    const control = group.extraPipes?.[0];
    if (control !== undefined) run.fault?.watch(control);
    return group;
  } catch (error) {
    throw new Failure<HarnessCode>("harness_process_start_failed", { cause: error });
  } finally {
    closeSync(log);
  }
}

/** A port nobody has now; taken again only before the first readiness. */
export function freePort(): number {
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = probe;
  probe.stop(true);
  return port;
}

/** Starts the server and waits until it answers; another port is tried only for the first start. */
export async function startServer(run: Run): Promise<void> {
  const first = run.services.port === 0;
  for (let attempt = 1; ; attempt += 1) {
    if (first) run.services.port = freePort();
    run.services.url = `http://127.0.0.1:${run.services.port}`;
    const env = run.bootstrap.exposeText((token) => ({
      ...run.env,
      WEBCODEX_ADDR: `127.0.0.1:${run.services.port}`,
      WEBCODEX_DATA: run.space.data,
      WEBCODEX_TOKEN: token,
    }));
    run.services.server = launch(run, "webcodex-server", { program: run.plan.server, args: [], env });
    run.operator ??= newOperator(run);
    try {
      await waitReady(run, null);
      break;
    } catch (error) {
      const taken = first && codeOf(error) === "service_ended_before_ready" && attempt < harnessLimits.portAttempts;
      if (!taken || !(await portTaken(run.services.port))) throw error;
      run.operator = null;
      run.book.notes.push("a port was taken before the first readiness; another one was used");
    }
  }
  if (!listeningPorts(run.services.server.pid).includes(run.services.port) && process.platform === "linux")
    throw new Failure<HarnessCode>("listener_not_ours");
}

/** Waits until the projects can be listed, and the named one is among them. */
export async function waitReady(run: Run, project: string | null): Promise<void> {
  const { server, runner } = run.services;
  const operator = operatorOf(run);
  const started = performance.now();
  for (;;) {
    if (server?.running() !== true || runner?.running() === false)
      throw new Failure<HarnessCode>("service_ended_before_ready");
    if (await isReady(run, operator, project)) return;
    if (performance.now() - started >= run.limits.readinessMs) throw new Failure<HarnessCode>("service_not_ready");
    await Promise.race([Bun.sleep(harnessLimits.readinessPollMs), run.stopped]);
  }
}

/** SIGINT first, as a person would; then the whole group. */
export async function stopService(run: Run, group: ProcessGroup | null): Promise<boolean> {
  if (group === null) return true;
  const { stopTermMs, stopKillMs } = run.limits;
  return (await group.stop({ firstSignal: "SIGINT", termMs: stopTermMs, killMs: stopKillMs })) === "gone";
}

export function operatorOf(run: Run): Operator {
  if (run.operator === null) throw new Failure("internal");
  return run.operator;
}

/** Starts the server again when the fault ended it; its runner comes back by itself. */
async function bringServerBack(run: Run): Promise<boolean> {
  if (run.fault === null || !(await run.fault.serverHasToComeBack())) return false;
  await startServer(run);
  await waitReady(run, run.services.project);
  await operatorOf(run).initialize();
  return true;
}

function newOperator(run: Run): Operator {
  return new Operator({
    url: run.services.url,
    httpTimeoutMs: run.limits.httpTimeoutMs,
    book: run.book,
    ...(run.fault === null ? {} : { recover: () => bringServerBack(run) }),
    answered: (tool, answer) => notePrinted(run, `answer_of_${tool}`.slice(0, 200), answer),
  });
}

async function isReady(run: Run, operator: Operator, project: string | null): Promise<boolean> {
  try {
    const ask = (token: string) => operator.restTool("list_projects", {}, token);
    const output = await (project === null ? run.bootstrap.exposeText(ask) : ask(operator.token));
    if (output === null) return false;
    const projects = Array.isArray(output["projects"]) ? output["projects"] : [];
    return project === null || projects.some((row) => isRecord(row) && row["id"] === project);
  } catch (error) {
    // Until it is ready a server may refuse connections or answer half; the deadline bounds the retries.
    if (isTransportFault(error)) return false;
    throw error;
  }
}

async function portTaken(port: number): Promise<boolean> {
  try {
    Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
    return false;
  } catch {
    return true;
  }
}
