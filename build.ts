// Builds dist/proctor: one executable that loads nothing from the folder it is started in.
//   bun build.ts                       this machine
//   bun build.ts --target NAME         one of `targets` below
//   bun build.ts --all [--check-twice] every target with checksums, SBOM and man page, into dist/release
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const root = import.meta.dir;

export const targets = [
  "linux-x64",
  "linux-x64-baseline",
  "linux-x64-musl",
  "linux-x64-musl-baseline",
  "linux-arm64",
  "linux-arm64-musl",
  "darwin-arm64",
  "darwin-x64",
  "windows-x64",
  "windows-arm64",
] as const;

export type Target = (typeof targets)[number];

/** The commit that is built, "unknown" outside a checkout, "-dirty" with local changes to what is built. */
function commit(): string {
  const run = (args: string[]) => Bun.spawnSync(["git", ...args], { cwd: root, stderr: "ignore" });
  const head = run(["rev-parse", "HEAD"]);
  if (head.exitCode !== 0) return "unknown";
  const changed = run(["status", "--porcelain", "--", "src", "fixtures", "package-lock.json"]).stdout.toString() !== "";
  return `${head.stdout.toString().trim()}${changed ? "-dirty" : ""}`;
}

/**
 * Builds one target into `outfile`. Throws with Bun's own words when the build fails.
 * Bun writes the name of the output file into the executable, so equal bytes need an equal name; it also leaves its
 * source maps beside it. Both are why the work is done in a folder of its own and the finished file is moved: a
 * running test never meets half a file, and two builds at once do not meet.
 */
export function build(outfile: string, target?: Target): void {
  mkdirSync(dirname(outfile), { recursive: true });
  const folder = mkdtempSync(join(dirname(outfile), ".build-"));
  try {
    compile(join(folder, basename(outfile)), target);
    renameSync(join(folder, basename(outfile)), outfile);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function compile(outfile: string, target: Target | undefined): void {
  const args = [
    process.execPath,
    "build",
    "--compile",
    ...(target === undefined ? [] : [`--target=bun-${target}`]),
    "--minify",
    "--bytecode",
    "--format=esm",
    "--splitting",
    "--sourcemap",
    "--no-compile-autoload-dotenv",
    "--no-compile-autoload-bunfig",
    "--no-compile-autoload-tsconfig",
    "--no-compile-autoload-package-json",
    "--compile-exec-argv=--no-install",
    `--define=PROCTOR_COMMIT="${commit()}"`,
    `--define=PROCTOR_TARGET="${target ?? `${process.platform}-${process.arch}`}"`,
    "src/main.ts",
    `--outfile=${outfile}`,
  ];
  const result = Bun.spawnSync(args, { cwd: root, stdout: "ignore", stderr: "pipe" });
  if (result.exitCode !== 0) throw new Error(`build failed\n${result.stderr.toString()}`);
}

/** The file name of a target's binary. */
export function binaryName(target: Target): string {
  return `proctor-${target}${target.startsWith("windows") ? ".exe" : ""}`;
}

if (import.meta.main) {
  const words = process.argv.slice(2);
  const wrong = words.some((word) => word.startsWith("--") && !["--all", "--check-twice", "--target"].includes(word));
  if (wrong) throw new Error("words: --target NAME, --all, --all --check-twice");
  if (words.includes("--all")) {
    const { release } = await import("./scripts/release.ts");
    await release({ folder: `${root}/dist/release`, checkTwice: words.includes("--check-twice") });
  } else {
    const target = words[0] === "--target" ? (words[1] as Target) : undefined;
    if (target !== undefined && !targets.includes(target)) throw new Error(`targets: ${targets.join(", ")}`);
    const own = process.platform === "win32" ? "proctor.exe" : "proctor";
    build(`${root}/dist/${target === undefined ? own : binaryName(target)}`, target);
  }
}
