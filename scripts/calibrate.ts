// `npm run calibrate`: run the whole catalogue (every honest subject 50 times unless told otherwise) with the built
// executable; with words of its own (`--only ID`, `--honest-times N`, `--faults N`, `--json`) just that. `--write-docs`
// only rewrites the generated tables in docs/calibration.md and docs/report.md; tests keep them current.
import { readFileSync, writeFileSync } from "node:fs";
import { beyondMarkdown } from "../src/calibrate/beyond-subjects.ts";
import { catalogueMarkdown } from "../src/calibrate/table.ts";
import { faultTableMarkdown } from "../src/judge/fault-points.ts";

const root = `${import.meta.dir}/..`;
const words = process.argv.slice(2);

if (words.includes("--write-docs")) {
  put("docs/calibration.md", "catalogue", catalogueMarkdown());
  put("docs/calibration.md", "beyond", beyondMarkdown());
  put("docs/report.md", "faults", faultTableMarkdown());
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

function put(file: string, mark: string, table: string): void {
  const marks = [`<!-- ${mark} -->\n`, `\n<!-- /${mark} -->`] as const;
  const text = readFileSync(`${root}/${file}`, "utf8");
  const before = text.slice(0, text.indexOf(marks[0]) + marks[0].length);
  writeFileSync(`${root}/${file}`, before + table + text.slice(text.indexOf(marks[1])));
}
