// Builds dist/proctor: one executable that loads nothing from the folder it is started in.
//   bun build.ts                 this machine
//   bun build.ts --target NAME   one of `targets` below
//   bun build.ts --all           every target, SHA256SUMS and the SBOM, into dist/release
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

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

/** Builds one target into `outfile`. Throws with Bun's own words when the build fails. */
export function build(outfile: string, target?: Target): void {
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

function release(): void {
  const folder = `${root}/dist/release`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const target of targets) {
    build(`${folder}/${binaryName(target)}`, target);
    process.stderr.write(`built ${target}\n`);
  }
  writeFileSync(`${folder}/proctor.cdx.json`, `${JSON.stringify(sbom(), null, 2)}\n`);
  const sums = readdirSync(folder)
    .filter((name) => !name.endsWith(".map"))
    .sort()
    .map(
      (name) => `${new Bun.CryptoHasher("sha256").update(readFileSync(`${folder}/${name}`)).digest("hex")}  ${name}\n`,
    );
  writeFileSync(`${folder}/SHA256SUMS`, sums.join(""));
}

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
}

/** CycloneDX 1.6: what is inside the executable, from the lockfile. */
function sbom(): object {
  const lock = JSON.parse(readFileSync(`${root}/package-lock.json`, "utf8")) as {
    packages: Record<string, LockedPackage>;
  };
  const manifest = JSON.parse(readFileSync(`${root}/package.json`, "utf8")) as {
    version: string;
    dependencies: Record<string, string>;
  };
  const components = Object.keys(manifest.dependencies)
    .map((name) => ({ name, ...lock.packages[`node_modules/${name}`] }))
    .concat([{ name: "bun", ...lock.packages["node_modules/bun"] }])
    .map((one) => ({
      type: one.name === "bun" ? "platform" : "library",
      name: one.name,
      version: one.version,
      purl: `pkg:npm/${one.name}@${one.version}`,
      licenses: [{ license: { id: one.license ?? "MIT" } }],
    }));
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { type: "application", name: "proctor", version: manifest.version } },
    components,
  };
}

if (import.meta.main) {
  const words = process.argv.slice(2);
  mkdirSync(`${root}/dist`, { recursive: true });
  if (words[0] === "--all") release();
  else {
    const target = words[0] === "--target" ? (words[1] as Target) : undefined;
    if (target !== undefined && !targets.includes(target)) throw new Error(`targets: ${targets.join(", ")}`);
    // Built beside and renamed over, so that a running test never meets half a file.
    const name = target === undefined ? "proctor" : binaryName(target);
    build(`${root}/dist/.${name}.new`, target);
    renameSync(`${root}/dist/.${name}.new`, `${root}/dist/${name}`);
  }
}
