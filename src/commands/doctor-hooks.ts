// Whether the host's own files name our hooks, and whether they work. Reads the host's files and asks the hooks' own
// doctor about each configuration found there; tells names of checks and counts, never a path or a command line.
import { decodeUtf8 } from "../base/bytes.ts";
import { isRecord, parseJson } from "../base/json.ts";
import { readRegularFile } from "../base/private-files.ts";
import { type DoctorHost, type Finding, fine, note, problem } from "./doctor-finding.ts";

const maxHostFileBytes = 1024 * 1024;
const maxHooks = 8;

export interface NamedHook {
  readonly kind: "observe" | "recover";
  readonly file: string;
}

/** One finding about the hooks of the host whose home is CODEX_HOME or ~/.codex. */
export async function hookFinding(host: DoctorHost): Promise<Finding> {
  const home = host.environment.CODEX_HOME ?? (host.home === null ? null : `${host.home}/.codex`);
  const named = home === null ? [] : namedHooks(home);
  if (home === null || named.length === 0)
    return note("hooks", "not configured in the host", "If you want them, paste what `proctor hook config` prints.");
  const { hookDoctor } = await import("../hooks/doctor.ts");
  const registryPath = named.find((one) => one.kind === "recover")?.file;
  const observers = [...new Set(named.filter((one) => one.kind === "observe").map((one) => one.file))];
  const open = observers.flatMap((configPath) =>
    hookDoctor({ configPath, registryPath, codexHome: home }).findings.filter((one) => !one.ok),
  );
  const says = `${observers.length} observing, ${registryPath === undefined ? "none" : "one"} recovering`;
  if (open.length === 0) return fine("hooks", `${says}; nothing to mend`);
  const names = [...new Set(open.map((one) => one.name))].join(", ");
  return problem("hooks", `${says}; open: ${names}`, "Run `proctor hook doctor --config FILE`: it says the next step.");
}

/** Our hooks in the host's two files, in the order of the files. Odd files name none. */
export function namedHooks(codexHome: string): NamedHook[] {
  const json = parseJson(textOf(`${codexHome}/hooks.json`));
  const toml = parseToml(textOf(`${codexHome}/config.toml`));
  return [...commandsIn(json), ...commandsIn(toml)].flatMap(hookOf).slice(0, maxHooks);
}

function textOf(path: string): string {
  try {
    return decodeUtf8(readRegularFile(path, { maxBytes: maxHostFileBytes })) ?? "";
  } catch {
    return ""; // missing or unreadable: the host names no hook there
  }
}

function parseToml(text: string): unknown {
  try {
    return Bun.TOML.parse(text);
  } catch {
    return undefined; // the host would not read it either
  }
}

/** `hooks.<event>[].hooks[].command` of either file. */
function commandsIn(file: unknown): string[] {
  const hooks = isRecord(file) && isRecord(file.hooks) ? file.hooks : {};
  const groups = Object.values(hooks).flatMap((event) => (Array.isArray(event) ? event : []));
  const entries = groups.flatMap((group) => (isRecord(group) && Array.isArray(group.hooks) ? group.hooks : []));
  return entries.flatMap((entry) => (isRecord(entry) && typeof entry.command === "string" ? [entry.command] : []));
}

function hookOf(command: string): NamedHook[] {
  const words = wordsOf(command);
  const at = words.indexOf("hook");
  const kind = words[at + 1];
  if (at < 0 || (kind !== "observe" && kind !== "recover")) return [];
  const flag = words.indexOf(kind === "observe" ? "--config" : "--registry", at);
  const file = flag < 0 ? undefined : words[flag + 1];
  return file?.startsWith("/") === true ? [{ kind, file }] : [];
}

/** Words of a shell line as `hook config` writes them: plain or in quotes, quotes side by side joined. */
export function wordsOf(line: string): string[] {
  const found = line.match(/(?:[^\s'"]+|'[^']*'|"[^"]*")+/g) ?? [];
  return found.map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double));
}
