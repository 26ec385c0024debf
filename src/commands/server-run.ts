// From environment to a running server and back: reads the three names, waits for a signal, stops within its grace.
import { resolve } from "node:path";
import { systemClock } from "../base/clock.ts";
import type { Environment } from "../base/environment.ts";
import { Failure } from "../base/failure.ts";
import { pauseAt } from "../base/pause-point.ts";
import { Secret } from "../base/secret.ts";
import type { ServerCode } from "../server/codes.ts";
import { serverLimits } from "../server/limits.ts";
import { lineLog } from "../server/log.ts";
import { openRunnerLink } from "../server/runner-link.ts";
import { openServer } from "../server/server.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { UsageError } from "./strict-args.ts";

interface RunOptions {
  readonly environment: Environment;
  readonly folder: string;
  readonly observationsPerSession: string | undefined;
  readonly tell: (line: string) => void;
}

/** Where the server of this environment keeps its rows. */
export function dataFolderOf(environment: Environment, folder: string): string {
  return resolve(folder, environment.WEBCODEX_DATA ?? "data");
}

/** The bootstrap token of this environment. */
export function bootstrapOf(environment: Environment): Secret {
  const text = environment.WEBCODEX_TOKEN;
  if (text === undefined || text === "") throw new Failure<ServerCode>("server_token_required");
  return Secret.from(text);
}

/** Runs until SIGINT, SIGTERM or SIGHUP. */
export async function runServer(options: RunOptions): Promise<number> {
  const { environment } = options;
  const bootstrap = bootstrapOf(environment);
  const asked = new Promise<void>((stop) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop());
  });
  const server = await openServer({
    address: environment.WEBCODEX_ADDR ?? "127.0.0.1:8080",
    dataFolder: dataFolderOf(environment, options.folder),
    bootstrap,
    openLink: openRunnerLink,
    log: lineLog(options.tell, () => systemClock.wallMs()),
    pause: pauseAt(environment),
    ...(options.observationsPerSession === undefined
      ? {}
      : { observationsPerSession: observations(options.observationsPerSession) }),
  });
  await asked;
  await server.close();
  bootstrap.wipe();
  return exitNumbers.done;
}

function observations(text: string): number {
  const count = /^[1-9][0-9]{0,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(count >= serverLimits.observationsPerSession && count <= serverLimits.maxObservationsPerSession))
    throw new UsageError("--observations-per-session takes a number from 256 to 65536.");
  return count;
}
