// What is inside the executable, as CycloneDX 1.6: Bun and the packages the bundler really took in. Read from the
// bundler's own account and the lockfile, not from the manifest, so that a package nobody imports is not claimed.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = `${import.meta.dir}/..`;

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
}

/** Names of the npm packages whose files are part of the bundle, sorted. */
function bundledPackages(): string[] {
  const folder = mkdtempSync(join(tmpdir(), "proctor-sbom-"));
  try {
    const account = join(folder, "meta.json");
    const args = ["build", "--target=bun", "--format=esm", "--splitting", `--metafile=${account}`, "src/main.ts"];
    const built = Bun.spawnSync([process.execPath, ...args, `--outdir=${folder}`], {
      cwd: root,
      stdout: "ignore",
      stderr: "pipe",
    });
    if (built.exitCode !== 0) throw new Error(`bundle failed\n${built.stderr.toString()}`);
    const { inputs } = JSON.parse(readFileSync(account, "utf8")) as { inputs: Record<string, unknown> };
    const names = Object.keys(inputs).map((path) => /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
    return [...new Set(names.filter((name) => name !== undefined))].sort();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The bill of materials. Throws when a bundled package is not locked, has no licence or no integrity. */
export function sbom(): object {
  const lock = JSON.parse(readFileSync(`${root}/package-lock.json`, "utf8")) as {
    packages: Record<string, LockedPackage>;
  };
  const { version } = JSON.parse(readFileSync(`${root}/package.json`, "utf8")) as { version: string };
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: { type: "application", name: "proctor", version, licenses: [{ license: { id: "MIT" } }] },
    },
    components: [...bundledPackages(), "bun"].map((name) => component(name, lock.packages[`node_modules/${name}`])),
  };
}

function component(name: string, locked: LockedPackage | undefined): object {
  if (locked?.version === undefined || locked.license === undefined || locked.integrity === undefined)
    throw new Error(`${name} is bundled, but the lockfile does not tell its version, licence and integrity`);
  const purl = `pkg:npm/${name.replace("@", "%40")}@${locked.version}`;
  return {
    type: name === "bun" ? "platform" : "library",
    "bom-ref": purl,
    name,
    version: locked.version,
    purl,
    licenses: [{ license: { id: locked.license } }],
    hashes: [{ alg: "SHA-512", content: sha512Hex(locked.integrity) }],
  };
}

/** npm's `sha512-<base64>` as the hex that CycloneDX wants. */
function sha512Hex(integrity: string): string {
  return Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex");
}
