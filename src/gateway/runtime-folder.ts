// One live gateway a runtime folder: a kernel lock says so, and ends with its holder. Under the lock, what a killed
// gateway left of its own kind is taken away; everything else in the folder is left as it is.
import { existsSync, lstatSync, mkdirSync, readdirSync, unlinkSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { Failure } from "../base/failure.ts";
import { type FileLock, tryLock } from "../base/file-lock.ts";
import { bootstrapName, checkRuntimeFolder } from "./bootstrap-file.ts";
import type { GatewayCode } from "./codes.ts";
import { gatewayLimits } from "./limits.ts";

export const controlSocketName = "control.sock";

/** Makes the folder where it is missing, checks it and takes it; the result gives it back. */
export async function claimRuntimeFolder(folder: string): Promise<FileLock> {
  makeFolder(folder);
  requireRuntimeFolder(folder);
  const lock = tryLock(join(folder, "gateway.lock"));
  if (lock === null) throw new Failure<GatewayCode>("gateway_running");
  try {
    if (await answers(join(folder, controlSocketName))) throw new Failure<GatewayCode>("gateway_running");
    for (const name of readdirSync(folder)) if (isLeftover(folder, name)) unlinkSync(join(folder, name));
  } catch (error) {
    lock.release();
    throw error;
  }
  return lock;
}

/** The folder is there and private; one that is missing is called so. */
export function requireRuntimeFolder(folder: string): void {
  if (!existsSync(folder)) throw new Failure<GatewayCode>("runtime_folder_missing");
  checkRuntimeFolder(folder);
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch {
    // It exists or cannot be made: the check that follows says which.
  }
}

/** A bootstrap nobody holds any more, or a control socket nobody listens on. */
function isLeftover(folder: string, name: string): boolean {
  const found = lstatSync(join(folder, name));
  return (bootstrapName.test(name) && found.isFile()) || (name === controlSocketName && found.isSocket());
}

/** Whether somebody listens there; a full backlog or silence counts as somebody. */
async function answers(path: string): Promise<boolean> {
  const done = Promise.withResolvers<boolean>();
  const socket = connect({ path });
  const timer = setTimeout(() => done.resolve(true), gatewayLimits.controlMs);
  socket.on("connect", () => done.resolve(true));
  socket.on("error", () => done.resolve(false));
  try {
    return await done.promise;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
