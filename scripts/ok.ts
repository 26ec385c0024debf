// `npm run ok`: is this checkout fit? Checks, upkeep (dead code, copied code, spelling, licences), suite and main job, in
// this order, each to its end. Says at the end what is not in order; exit 1 then.
//   npm run ok              all of it
//   npm run ok -- upkeep    one part: check, upkeep, test or accept
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { pinnedModules } from "./pinned.ts";
import { sbom } from "./sbom.ts";

const root = `${import.meta.dir}/..`;
const fixture = `${root}/fixtures/upkeep`;

/** Licences that ask for no more than to be named. */
const plainLicences = ["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0"];

function run(command: readonly string[], cwd = root): boolean {
  return Bun.spawnSync([...command], { cwd, stdio: ["ignore", "inherit", "inherit"] }).exitCode === 0;
}

const npm = process.platform === "win32" ? "npm.cmd" : "npm";

function tool(name: string, ...words: string[]): boolean {
  process.stderr.write(`-- ${name}\n`);
  return run([`${pinnedModules("upkeep")}/.bin/${name}`, ...words]);
}

/** Every bundled component names a licence that we may pass on. */
function licencesArePlain(): boolean {
  process.stderr.write("-- licences of what is bundled\n");
  const { components } = sbom() as {
    components: ReadonlyArray<{ name: string; licenses: ReadonlyArray<{ license: { id: string } }> }>;
  };
  const odd = components.filter((one) => one.licenses.some(({ license }) => !plainLicences.includes(license.id)));
  for (const one of odd) process.stderr.write(`${one.name}: ${one.licenses.map((l) => l.license.id).join(", ")}\n`);
  return odd.length === 0;
}

/** The main job; its evidence is of no further use here. */
function acceptHolds(): boolean {
  const folder = mkdtempSync(`${realpathSync(tmpdir())}/proctor-ok-`);
  try {
    return run([npm, "run", "--silent", "accept", "--", "--output-dir", `${folder}/run`]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const parts: Readonly<Record<string, () => boolean>> = {
  check: () => run([npm, "run", "--silent", "check"]),
  upkeep: () =>
    [
      tool("knip", "--config", `${fixture}/knip.json`, "--no-progress"),
      tool(
        "jscpd",
        "--min-tokens",
        "80",
        "--threshold",
        "0",
        "--format",
        "typescript",
        "src",
        "bench",
        "scripts",
        "build.ts",
      ),
      tool("cspell", "--config", `${fixture}/cspell.json`, "--no-progress", "--unique", "*.md", "docs/**/*.md"),
      licencesArePlain(),
    ].every(Boolean),
  test: () => run([npm, "test", "--silent"]),
  accept: acceptHolds,
};

const asked = process.argv.slice(2);
const unknown = asked.find((name) => !Object.hasOwn(parts, name));
if (unknown !== undefined) throw new Error(`no part ${unknown}; there are ${Object.keys(parts).join(", ")}`);
const open = (asked.length > 0 ? asked : Object.keys(parts)).filter((name) => {
  process.stderr.write(`== ${name}\n`);
  return !parts[name]!();
});
process.stdout.write(open.length === 0 ? "fit\n" : `not in order: ${open.join(", ")}\n`);
process.exitCode = open.length === 0 ? 0 : 1;
