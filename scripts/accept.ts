// `npm run accept`: build the executable when it is missing or older than the source, then run the main job with it.
import { statSync } from "node:fs";
import { Glob } from "bun";

const root = `${import.meta.dir}/..`;
const binary = `${root}/dist/proctor`;

/** Modification time in ms, 0 when there is no such file. */
function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

const built = changedAt(binary);
const sources = [...new Glob("{src,fixtures}/**").scanSync({ cwd: root }), "build.ts", "package.json"];
if (sources.some((file) => changedAt(`${root}/${file}`) > built)) {
  const result = Bun.spawnSync([process.execPath, "run", "build.ts"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (result.exitCode !== 0) process.exit(1);
}
const child = Bun.spawn([binary, "accept", ...process.argv.slice(2)], { stdio: ["inherit", "inherit", "inherit"] });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
process.exitCode = await child.exited;
