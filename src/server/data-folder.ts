// The place where the server keeps its rows: a private folder on a local disk, used by one server at a time.
import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { Failure } from "../base/failure.ts";
import { type FileLock, tryLock } from "../base/file-lock.ts";
import { checkPrivateFolder, createPrivateFile, ensurePrivateFolder } from "../base/private-files.ts";
import type { ServerCode } from "./codes.ts";

/** Names the kind of file system below a folder; a seam, so that tests need no network mount. */
export type FileSystemKind = (path: string) => "local" | "network";

// Magic numbers of NFS, SMB (three spellings), 9p, AFS, Coda, Ceph and FUSE, which is what sshfs shows.
const networkMagic: ReadonlySet<number> = new Set([
  0x6969, 0x517b, 0xfe534d42, 0xff534d42, 0x01021997, 0x5346414f, 0x73757245, 0x00c36400, 0x65735546,
]);

export const fileSystemKind: FileSystemKind = (path) =>
  process.platform === "linux" && networkMagic.has(Number(statfsSync(path).type)) ? "network" : "local";

export interface DataFolder {
  readonly path: string;
  readonly databasePath: string;
  readonly privateFolder: string;
  readonly lock: FileLock;
}

export function databasePathOf(path: string): string {
  return `${path}/server.sqlite`;
}

/** Opens the folder, creating it when only it is missing. Nothing inside is touched before the lock is held. */
export function openDataFolder(path: string, kindOf: FileSystemKind = fileSystemKind): DataFolder {
  try {
    ensurePrivateFolder(path);
    checkPrivateFolder(path);
    // SQLite would open what may only be read, and fail at the first write.
    accessSync(path, constants.W_OK);
    if (existsSync(databasePathOf(path))) accessSync(databasePathOf(path), constants.R_OK | constants.W_OK);
  } catch (error) {
    throw new Failure<ServerCode>("server_data_unusable", { cause: error });
  }
  if (kindOf(path) === "network") throw new Failure<ServerCode>("server_data_network");
  let lock: FileLock | null;
  try {
    lock = tryLock(`${path}/server.lock`);
    if (lock !== null) ensurePrivateFolder(`${path}/private`);
    // The database holds digests and texts: it is born 0600, before SQLite would create it by umask.
    if (lock !== null && !existsSync(databasePathOf(path))) createPrivateFile(databasePathOf(path), "");
  } catch (error) {
    throw new Failure<ServerCode>("server_data_unusable", { cause: error });
  }
  if (lock === null) throw new Failure<ServerCode>("server_data_locked");
  return { path, databasePath: databasePathOf(path), privateFolder: `${path}/private`, lock };
}
