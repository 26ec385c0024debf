// The test command: sets up what is missing, builds the executable once, runs the suite over files in parallel,
// and ends with `N passed, N failed` read from the junit file. Fails when that file is missing or nothing passed.
//   npm test                       the suite: all but calibration, whose whole runs have a command of their own
//   npm test -- tests/calibration  what the suite leaves out
//   npm test -- tests/relay        one part of it
// tests/timings.json says which files take long; `bun test --parallel=4 --timings=tests/timings.json --update-timings` renews it.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bunPath, root } from "./bun.mjs";

const bun = bunPath();
const junit = process.env.PROCTOR_JUNIT ?? join(root, "dist", "junit.xml");
const rooms = readdirSync(join(root, "tests")).filter((name) => !name.includes(".") && name !== "calibration");
const named = process.argv.slice(2);
const parts = named.length > 0 ? named : rooms.map((name) => `tests/${name}`);

const built = spawnSync(bun, ["run", "build.ts"], { cwd: root, stdio: ["ignore", 2, 2] });
if (built.status !== 0) {
  console.log("0 passed, 1 failed");
  process.exit(1);
}

rmSync(junit, { force: true }); // the one counted below is this run's
const run = spawnSync(
  bun,
  [
    "test",
    "--parallel=4", // more than two cores: many tests wait most of their time
    "--timeout=120000",
    "--max-concurrency=2", // of the files whose tests mostly wait
    "--only-failures",
    "--preload=./tests/support/built-executable.ts",
    "--reporter=junit",
    `--timings=${join(root, "tests", "timings.json")}`, // the longest files first, or the last one runs alone
    `--reporter-outfile=${junit}`,
    ...parts.map((part) => (part.startsWith(".") ? part : `./${part}`)),
  ],
  {
    cwd: root,
    stdio: ["ignore", 2, 2],
    env: {
      ...process.env,
      PROCTOR_BINARY: join(root, "dist", process.platform === "win32" ? "proctor.exe" : "proctor"),
      PROCTOR_SUITE: "1",
    },
  },
);

const text = existsSync(junit) ? readFileSync(junit, "utf8") : "";
const head = /<testsuites\b[^>]*>/.exec(text)?.[0] ?? "";
const count = (name) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
const failed = count("failures") + count("errors");
const skipped = count("skipped");
const passed = count("tests") - failed - skipped;
const silentFailure = run.status !== 0 && failed === 0 ? 1 : 0;
console.log(`${passed} passed, ${failed + silentFailure} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exitCode = run.status === 0 && passed > 0 && failed === 0 ? 0 : 1;
