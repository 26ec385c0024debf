// The release folder: every target, completions, man page, licence, SBOM and one list of checksums.
// With `checkTwice` each target is built a second time from nothing and must have the same bytes.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { binaryName, build, targets } from "../build.ts";
import { completionScript } from "../src/commands/completion-scripts.ts";
import { elfFacts } from "./elf.ts";
import { manPage } from "./man-page.ts";
import { sbom } from "./sbom.ts";

const root = `${import.meta.dir}/..`;

export interface ReleaseOptions {
  readonly folder: string;
  readonly checkTwice: boolean;
}

/** Fills `folder` anew. Throws when a build fails, a second build differs, or a binary needs a library it may not. */
export async function release(options: ReleaseOptions): Promise<void> {
  const { folder } = options;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const target of targets) {
    const path = join(folder, binaryName(target));
    build(path, target);
    const facts = target.startsWith("linux") ? checkLinux(path, target) : "";
    const again = options.checkTwice ? secondBuild(path, target) : "";
    process.stderr.write(`built ${target}${facts}${again}\n`);
  }
  writeFileSync(join(folder, "proctor.cdx.json"), `${JSON.stringify(sbom(), null, 2)}\n`);
  writeFileSync(join(folder, "proctor.1"), await manPage());
  for (const shell of ["bash", "zsh", "fish"] as const)
    writeFileSync(join(folder, `proctor.${shell}`), await completionScript(shell));
  cpSync(`${root}/LICENSE`, join(folder, "LICENSE"));
  writeFileSync(join(folder, "SHA256SUMS"), sumsOf(folder));
}

function sha256(path: string): string {
  return new Bun.CryptoHasher("sha256").update(readFileSync(path)).digest("hex");
}

/** The list as `sha256sum -c` reads it, sorted by name. */
export function sumsOf(folder: string): string {
  return readdirSync(folder)
    .filter((name) => name !== "SHA256SUMS")
    .sort()
    .map((name) => `${sha256(join(folder, name))}  ${name}\n`)
    .join("");
}

function secondBuild(path: string, target: (typeof targets)[number]): string {
  const folder = mkdtempSync(join(dirname(path), ".again-"));
  try {
    const again = join(folder, binaryName(target));
    build(again, target);
    if (sha256(again) !== sha256(path)) throw new Error(`${target}: two builds differ`);
    return ", twice with equal bytes";
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A Linux binary asks for its own libc's loader and for nothing but the libc's own libraries. */
function checkLinux(path: string, target: string): string {
  const { machine, interpreter, needed } = elfFacts(readFileSync(path));
  const musl = target.includes("musl");
  const wrong =
    machine !== (target.includes("arm64") ? "aarch64" : "x86_64") ||
    !interpreter.includes(musl ? "ld-musl-" : "ld-linux") ||
    needed.some((name) => !(musl ? muslLibraries : glibcLibraries).test(name));
  if (wrong) throw new Error(`${target}: ${machine}, ${interpreter}, needs ${needed.join(" ")}`);
  return ` (${interpreter}; ${needed.join(" ")})`;
}

const glibcLibraries = /^(?:libc|libm|libpthread|libdl|ld-linux-(?:x86-64|aarch64))\.so\.\d$/;
const muslLibraries = /^(?:libc\.musl-(?:x86_64|aarch64)\.so\.1|libstdc\+\+\.so\.6|libgcc_s\.so\.1)$/;
