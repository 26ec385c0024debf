// Which programs a run may need are here, and in which version. Each is asked once, with a time limit, a bounded
// answer and a small environment; only the number of its version is told.
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { decodeUtf8 } from "../base/bytes.ts";
import { pickEnvironment } from "../base/environment.ts";
import { isRecord, parseJson } from "../base/json.ts";
import { readRegularFile } from "../base/private-files.ts";
import { runProgram } from "../base/run-program.ts";
import { visible } from "../base/visible.ts";
import { realAdapterName, realAdapterVersion } from "../contract/report.ts";
import { type DoctorHost, type Finding, fine, note, problem } from "./doctor-finding.ts";

const versionTimeoutMs = 5_000;
const maxVersionBytes = 4_096;
const maxManifestBytes = 131_072;

/** The Codex that the recipes of this build were tried with. */
const testedCodex = "0.171.0";

interface AskedProgram {
  readonly check: string;
  readonly missing: (check: string, says: string, next: string) => Finding;
  readonly next: string;
  /** Lowest version, and what an older one means. */
  readonly least?: { readonly version: readonly [number, number]; readonly next: string };
}

const programs: readonly AskedProgram[] = [
  {
    check: "git",
    missing: problem,
    next: "Install git: `accept` makes its fixture repository with it.",
    least: { version: [2, 28], next: "Install git 2.28 or newer: the fixture repository names its first branch." },
  },
  {
    check: "python3",
    missing: note,
    next: "Nothing to do: without python3 3.10 the TypeScript fixture is used.",
    least: { version: [3, 10], next: "Nothing to do: the Python fixture needs 3.10, so the TypeScript one is used." },
  },
  { check: "node", missing: note, next: "Install Node.js only if you seat the real codex-acp adapter." },
  { check: "codex", missing: note, next: "Install Codex only if you seat the real consumer, with --codex-path." },
];

/** One finding a program, and one for the adapter's package. */
export async function programFindings(host: DoctorHost): Promise<Finding[]> {
  const asked = await Promise.all(programs.map((program) => programFinding(program, host)));
  return [...asked, adapterFinding(host)];
}

async function programFinding(program: AskedProgram, host: DoctorHost): Promise<Finding> {
  const { check } = program;
  const path = Bun.which(check, { PATH: host.environment.PATH ?? "" });
  if (path === null) return program.missing(check, "not found on PATH", program.next);
  const answer = await runProgram({
    command: path,
    args: ["--version"],
    cwd: host.temp,
    env: pickEnvironment(host.environment, ["PATH", "HOME", "LANG"]),
    timeoutMs: versionTimeoutMs,
    maxOutputBytes: maxVersionBytes,
  });
  if (!answer.started || answer.code !== 0)
    return problem(check, "found, but it does not answer --version", `Reinstall ${check}, or take it off PATH.`);
  const line = new TextDecoder().decode(answer.stdout).trim().split("\n")[0] ?? "";
  return versionFinding(program, line);
}

/** Judges one version line. */
export function versionFinding(program: AskedProgram, line: string): Finding {
  const { check, least } = program;
  const number = visible(/\d+(?:\.\d+){1,3}/.exec(line)?.[0] ?? "", 40);
  if (number === "") return note(check, "answers without a version", `Look at \`${check} --version\`.`);
  const [major = 0, minor = 0] = number.split(".").map(Number);
  if (least !== undefined && (major < least.version[0] || (major === least.version[0] && minor < least.version[1])))
    return program.missing(check, `version ${number}`, least.next);
  if (check === "codex" && number !== testedCodex)
    return note(
      check,
      `version ${number}; this build was tried with ${testedCodex}`,
      "Run `accept` with --codex-path.",
    );
  return fine(check, `version ${number}`);
}

/** The adapter tells its version by the package beside it; it is not started. */
function adapterFinding(host: DoctorHost): Finding {
  const check = "adapter";
  const path = Bun.which("codex-acp", { PATH: host.environment.PATH ?? "" });
  if (path === null)
    return note(
      check,
      "codex-acp not found on PATH",
      "Install it only if you seat the real adapter, with --adapter-script.",
    );
  const version = packageVersion(path);
  if (version === null)
    return note(check, "codex-acp found, its package was not", "Give `accept` the package's own dist/index.js.");
  if (version !== realAdapterVersion)
    return note(
      check,
      `version ${version}`,
      `Install ${realAdapterName}@${realAdapterVersion}: the rules know this one.`,
    );
  return fine(check, `version ${version}`);
}

function packageVersion(program: string): string | null {
  let folder: string;
  try {
    folder = dirname(realpathSync(program));
  } catch {
    return null; // gone since it was found
  }
  for (let step = 0; step < 4; step++, folder = dirname(folder)) {
    const manifest = manifestOf(join(folder, "package.json"));
    if (manifest?.name !== realAdapterName) continue;
    const version = manifest.version;
    return typeof version === "string" && /^[0-9A-Za-z.+-]{1,40}$/.test(version) ? version : null;
  }
  return null;
}

function manifestOf(path: string): Record<string, unknown> | null {
  try {
    const value = parseJson(decodeUtf8(readRegularFile(path, { maxBytes: maxManifestBytes })) ?? "");
    return isRecord(value) ? value : null;
  } catch {
    return null; // no package here: the next folder up is looked at
  }
}
