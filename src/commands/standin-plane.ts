// `proctor standin plane`: started by environment as `proctor server` is, which it starts behind itself.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pickEnvironment } from "../base/environment.ts";
import { Failure } from "../base/failure.ts";
import { parseJson } from "../base/json.ts";
import { currentFolder, processEnvironment, selfCommand } from "../base/self.ts";
import type { StandinCode } from "../standins/codes.ts";
import type { PlaneMisbehaviour } from "../standins/plane-misbehaviours.ts";
import { version } from "../version.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printText, tell } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

const passedOn = [
  "PATH",
  "HOME",
  "TMPDIR",
  "LANG",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_STATE_HOME",
  "WEBCODEX_TOKEN",
];

export default defineStrictCommand({
  meta: {
    name: "plane",
    description: "A control plane that is wrong in one way: the embedded server behind a loopback proxy.",
    examples: [
      "WEBCODEX_TOKEN=… WEBCODEX_ADDR=127.0.0.1:8080 WEBCODEX_DATA=./data proctor standin plane --misbehave loses-history",
    ],
    notes: ["It knows that it was restarted by finding its data. `proctor standin list` names what it can do wrong."],
  },
  args: {
    misbehave: { type: "string", valueHint: "NAME", description: "Be bad in this one way." },
    version: { type: "boolean", description: "Print name and version." },
  },
  async run({ args }) {
    if (args.version) {
      printText(`proctor-standin-plane ${version}`);
      return exitNumbers.done;
    }
    const { planeMisbehaviours } = await import("../standins/plane-misbehaviours.ts");
    const named = args.misbehave ?? "honest";
    if (named !== "honest" && !Object.hasOwn(planeMisbehaviours, named))
      throw new Failure<StandinCode>("standin_unknown_misbehaviour");
    return await serve(named as PlaneMisbehaviour | "honest");
  },
});

async function serve(misbehave: PlaneMisbehaviour | "honest"): Promise<number> {
  const { WEBCODEX_ADDR: address, WEBCODEX_DATA: data, WEBCODEX_TOKEN: secret } = processEnvironment();
  const at = /^(127\.0\.0\.1):([0-9]{1,5})$/.exec(address ?? "");
  if (at === null || data === undefined || secret === undefined)
    throw new Failure<StandinCode>("standin_plane_environment");
  const restarted = existsSync(data);
  if (misbehave === "stays-away-after-restart" && restarted) return exitNumbers.failed;
  if (misbehave === "honest-late" && !restarted) await Bun.sleep(1_000);
  const empty = misbehave === "empty-store-after-restart" && restarted;
  const asked = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => asked.resolve());
  if (misbehave === "prints-secret") tell(`started with ${secret}`);
  const inner = await startServer(empty ? join(data, "empty") : data);
  const { openPlane } = await import("../standins/plane.ts");
  const exit = (code: number): never => {
    inner.program.kill("SIGKILL");
    process.exit(code);
  };
  const rest = { misbehave, restarted, secret, memory: `${data}.memory.json`, exit };
  const options = { host: "127.0.0.1", port: Number(at[2]), innerPort: inner.port, ...rest };
  const plane = openPlane(options);
  await Promise.race([asked.promise, inner.program.exited]);
  await plane.close();
  inner.program.kill("SIGINT");
  await inner.program.exited;
  process.exit(exitNumbers.done);
}

async function startServer(data: string) {
  const { startInner } = await import("../standins/inner-program.ts");
  const { standinLimits } = await import("../standins/limits.ts");
  const listening = Promise.withResolvers<number>();
  const env = { ...pickEnvironment(processEnvironment(), passedOn), WEBCODEX_ADDR: "127.0.0.1:0", WEBCODEX_DATA: data };
  const program = startInner({
    words: selfCommand(["server"]),
    env,
    cwd: currentFolder(),
    onLine: (line) => {
      tell(line);
      const note = parseJson(line) as { event?: unknown; port?: unknown } | undefined;
      if (note?.event === "listening" && typeof note.port === "number") listening.resolve(note.port);
    },
  });
  const timer = setTimeout(() => listening.resolve(0), standinLimits.innerReadyMs);
  const port = await Promise.race([listening.promise, program.exited.then(() => 0)]);
  clearTimeout(timer);
  if (port === 0) throw new Failure<StandinCode>("standin_inner_not_ready");
  return { program, port };
}
