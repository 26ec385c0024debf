// The door to Windows' notion of a private path. The judgement is pure (windows-acl.ts); reading a descriptor and
// setting one need the system library, which is loaded on Windows only and only when a path is really judged.
import { Failure } from "./failure.ts";

/** Judges and makes private paths by their access lists. */
export interface PathPrivacy {
  isPrivate(path: string): boolean;
  makePrivate(path: string): void;
}

const refusing: PathPrivacy = {
  // Fail closed: while no system reader is installed, no path counts as private.
  isPrivate: () => false,
  makePrivate: () => {
    throw new Failure("windows_security_unavailable");
  },
};

let current: PathPrivacy = refusing;

/** The reader in use. */
export function windowsPathPrivacy(): PathPrivacy {
  return current;
}

/**
 * Installs the reader of this system. Nothing calls it yet: Windows refuses private files until it is.
 * @public
 */
export function installPathPrivacy(privacy: PathPrivacy): void {
  current = privacy;
}
