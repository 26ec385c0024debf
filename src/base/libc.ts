// The C library of this system, found under the name it has with glibc, musl or on macOS. Where there is none to be
// had the answer is null, and the caller says what it cannot promise then.

import { dlopen, type FFIFunction, type Library } from "bun:ffi";

/** The named functions of the C library; all of them or null. */
export function openLibc<const Functions extends Record<string, FFIFunction>>(
  functions: Functions,
): Library<Functions>["symbols"] | null {
  for (const name of namesHere()) {
    try {
      return dlopen(name, functions).symbols;
    } catch {
      // Not this C library; the next name may be.
    }
  }
  return null;
}

function namesHere(): readonly string[] {
  if (process.platform === "darwin") return ["libSystem.dylib"];
  if (process.platform !== "linux") return [];
  return ["libc.so.6", `libc.musl-${process.arch === "x64" ? "x86_64" : "aarch64"}.so.1`, "libc.so"];
}
