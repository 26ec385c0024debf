// Listens on a Unix socket that is born 0600 in a private folder, replaces nothing, and removes only its own inode.
import { linkSync, lstatSync, unlinkSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { dirname, isAbsolute, join } from "node:path";
import { toBase64Url } from "../base/bytes.ts";
import { Failure, systemCodeOf } from "../base/failure.ts";
import { createPrivateFolder, removeIfPresent } from "../base/private-files.ts";
import { systemRandom } from "../base/random.ts";
import { effectiveUserId } from "../base/self.ts";
import type { GatewayCode } from "./codes.ts";
import { gatewayLimits } from "./limits.ts";

export interface UnixListener {
  readonly server: Server;
  readonly path: string;
  /** Removes the socket if the path still is the inode this listener made. */
  remove(): void;
}

export async function listenUnix(
  path: string,
  accept: (socket: Socket) => void,
  options: { readonly uid?: number | null } = {},
): Promise<UnixListener> {
  if (!isAbsolute(path) || Buffer.byteLength(path) > gatewayLimits.maxSocketPathBytes || dirname(path) === path)
    throw new Failure<GatewayCode>("endpoint_invalid");
  checkParent(dirname(path), options.uid ?? effectiveUserId());
  if (exists(path)) throw new Failure<GatewayCode>("endpoint_exists");
  const server = createServer({ allowHalfOpen: true }, accept);
  const made = await bindPrivately(server, dirname(path));
  try {
    linkSync(made, path); // takes a free name or none: nothing is replaced, whoever comes in between
  } catch (error) {
    server.close();
    const taken = systemCodeOf(error) === "EEXIST";
    throw new Failure<GatewayCode>(taken ? "endpoint_exists" : "endpoint_unavailable", { cause: error });
  } finally {
    removeIfPresent(made); // a server that was closed has removed it
  }
  const { ino, dev } = lstatSync(path);
  return { server, path, remove: () => removeOwn(path, { ino, dev }) };
}

/**
 * Binds under a short name drawn at random and gives it. A server that closes removes the name it was bound to, whoever
 * owns that by then; so the name that others know is a link of ours.
 */
async function bindPrivately(server: Server, parent: string): Promise<string> {
  const name = join(parent, `.${toBase64Url(systemRandom(3))}`);
  const ready = Promise.withResolvers<void>();
  server.once("error", (error) => ready.reject(new Failure<GatewayCode>("endpoint_unavailable", { cause: error })));
  // The socket never exists with a wider mode. It is bound before `listen` returns, so that nothing else is made under
  // this umask and no second listener takes it for the one to go back to.
  const before = process.umask(0o177);
  try {
    server.listen({ path: name }, () => ready.resolve());
  } finally {
    process.umask(before);
  }
  await ready.promise;
  return name;
}

function checkParent(parent: string, uid: number | null): void {
  let found: ReturnType<typeof lstatSync>;
  try {
    found = lstatSync(parent);
  } catch (error) {
    if (systemCodeOf(error) !== "ENOENT") throw new Failure<GatewayCode>("endpoint_unavailable", { cause: error });
    try {
      createPrivateFolder(parent);
    } catch (cause) {
      throw new Failure<GatewayCode>("endpoint_unavailable", { cause });
    }
    return;
  }
  if (!found.isDirectory() || (found.mode & 0o777) !== 0o700 || found.uid !== uid)
    throw new Failure<GatewayCode>("permission_denied");
}

function exists(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return false;
    throw new Failure<GatewayCode>("endpoint_unavailable", { cause: error });
  }
}

function removeOwn(path: string, own: { ino: number; dev: number }): void {
  try {
    const now = lstatSync(path);
    if (now.ino === own.ino && now.dev === own.dev) unlinkSync(path);
  } catch {
    // It is gone already, which is what was wanted.
  }
}
