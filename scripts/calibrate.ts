// `npm run calibrate`: run the whole catalogue (every honest subject 50 times unless told otherwise) with the built
// executable. `--write-docs` only rewrites the generated table in docs/calibration.md; a test keeps it current.
import { readFileSync, writeFileSync } from "node:fs";
import { catalogueMarkdown } from "../src/calibrate/table.ts";

const root = `${import.meta.dir}/..`;
const words = process.argv.slice(2);

if (words.includes("--write-docs")) {
  const file = `${root}/docs/calibration.md`;
  const marks = ["<!-- catalogue -->\n", "\n<!-- /catalogue -->"] as const;
  const text = readFileSync(file, "utf8");
  const before = text.slice(0, text.indexOf(marks[0]) + marks[0].length);
  writeFileSync(file, before + catalogueMarkdown() + text.slice(text.indexOf(marks[1])));
} else {
  const build = Bun.spawnSync([process.execPath, "run", "build.ts"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (build.exitCode !== 0) process.exit(1);
  const times = words.length === 0 ? ["--honest-times", "50"] : [];
  const child = Bun.spawn([`${root}/dist/proctor`, "calibrate", ...times, ...words], {
    stdio: ["inherit", "inherit", "inherit"],
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  process.exitCode = await child.exited;
}
