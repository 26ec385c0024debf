// Answers why a hook did nothing: is it in the host's configuration, trusted there, did it run, was it delivered, and
// what is the next step. Reads the host's files and the private ledger; changes nothing.
import { decodeUtf8 } from "../base/bytes.ts";
import { codeOf } from "../base/failure.ts";
import { readRegularFile } from "../base/private-files.ts";
import { type HooksCode, hooksCodes } from "./codes.ts";
import { type HookConfig, loadConfig } from "./config-file.ts";
import { checkRecord } from "./delivery.ts";
import { type LedgerLine, readLedger } from "./ledger.ts";
import { hookLimits } from "./limits.ts";
import { requireStateFolder } from "./operator-files.ts";
import { listRecords, listRefusals, readRecord } from "./outbox.ts";
import { loadRegistry } from "./registry-file.ts";

export interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly text: string;
}

export interface DoctorReport {
  readonly healthy: boolean;
  readonly findings: readonly Finding[];
}

export interface DoctorOptions {
  readonly configPath: string;
  readonly registryPath: string | undefined;
  readonly codexHome: string;
}

/** Looks at one configuration and one host home. */
export function hookDoctor(options: DoctorOptions): DoctorReport {
  const findings: Finding[] = [];
  let config: HookConfig | null = null;
  try {
    config = loadConfig(options.configPath);
    requireStateFolder(config.stateDir);
    findings.push(fine("configuration", "The configuration and its state folder are private and whole."));
  } catch (error) {
    findings.push(problem("configuration", sentenceOf(codeOf(error))));
  }
  if (options.registryPath !== undefined) findings.push(registryFinding(options.registryPath));
  findings.push(...hostFindings(options));
  if (config !== null) findings.push(...stateFindings(config));
  return { healthy: findings.every((one) => one.ok), findings };
}

function registryFinding(path: string): Finding {
  try {
    const count = loadRegistry(path).bindings.length;
    if (count === 0) return problem("registry", "There is no association yet; run recovery discover and associate.");
    return fine("registry", `${count} association${count === 1 ? "" : "s"}.`);
  } catch (error) {
    return problem("registry", sentenceOf(codeOf(error)));
  }
}

function hostFindings(options: DoctorOptions): Finding[] {
  const json = hostText(`${options.codexHome}/hooks.json`);
  const toml = hostText(`${options.codexHome}/config.toml`);
  const named = (path: string) => `${json}\n${toml}`.includes(path);
  const findings: Finding[] = [];
  const configured = named(options.configPath);
  findings.push(
    configured
      ? fine("configured", "The host's configuration names this hook.")
      : problem("configured", "The host's configuration does not name this hook; paste the output of hook config."),
  );
  if (/^\s*hooks\s*=\s*false/m.test(toml)) findings.push(problem("feature", "Hooks are switched off in the host."));
  if (configured) {
    // The hash is the host's own and differs between its versions, so only its presence can be told from here.
    const trusted = /\[hooks\.state\."[^"\n]*:post_tool_use:\d+:\d+"\]\s*\n\s*trusted_hash\s*=\s*"sha256:/.test(toml);
    findings.push(
      trusted
        ? fine("trusted", "The host has a trust entry for a PostToolUse hook.")
        : problem("trusted", "The host has no trust entry for this hook and skips it silently; trust it in the host."),
    );
  }
  return findings;
}

function hostText(path: string): string {
  try {
    return decodeUtf8(readRegularFile(path, { maxBytes: 1024 * 1024 })) ?? "";
  } catch {
    // Missing or unreadable is the same here: the host's configuration does not name us.
    return "";
  }
}

function stateFindings(config: HookConfig): Finding[] {
  const lines = readLedger(config.stateDir);
  const observed = lines.filter((line) => line.hook !== "recover");
  const fired = observed.filter((line) => line.hook === "observe").length;
  const findings = [
    fired > 0
      ? fine("fired", `The observing hook ran ${fired} times by its ledger.`)
      : problem("fired", "The observing hook has not run yet; use one tool in the configured conversation."),
  ];
  findings.push(
    failureFinding("observe failures", observed),
    failureFinding(
      "recover failures",
      lines.filter((line) => line.hook === "recover"),
    ),
  );
  try {
    findings.push(outboxFinding(config));
  } catch (error) {
    findings.push(problem("delivered", sentenceOf(codeOf(error))));
  }
  return findings;
}

/** The newest line decides; what failed before it is counted. */
function failureFinding(name: string, lines: readonly LedgerLine[]): Finding {
  const failed = lines.filter((line) => line.status === "incomplete");
  const last = lines.at(-1);
  if (last === undefined || last.status !== "incomplete")
    return fine(name, `${failed.length} so far, none since the last success.`);
  return problem(name, `${failed.length}; the last: ${sentenceOf(last.reason ?? "internal")}`);
}

function outboxFinding(config: HookConfig): Finding {
  const refusals = listRefusals(config.stateDir);
  const counts = { pending: 0, foreign: 0, corrupt: 0, refused: 0 };
  for (const name of listRecords(config.stateDir)) counts[kindOf(config, name, refusals)] += 1;
  const { pending, foreign, corrupt, refused } = counts;
  const text = `${pending} pending, ${foreign} foreign, ${corrupt} corrupt, ${refused} refused`;
  if (pending + foreign + corrupt + refused === 0) return fine("delivered", "Nothing is waiting.");
  const steps: string[] = [];
  if (pending > 0) steps.push("run hook observe --flush when the server is reachable");
  if (pending >= hookLimits.maxPending) steps.push("the outbox is full and saves nothing more");
  if (foreign > 0)
    steps.push("restore the configuration the foreign records were made under and flush, or remove them");
  if (corrupt > 0) steps.push("look at the corrupt records and remove them");
  for (const kind of new Set(refusals.values())) steps.push(refusalStep(kind));
  return problem("delivered", `${text}. Next: ${steps.join("; ")}.`);
}

function kindOf(config: HookConfig, name: string, refusals: ReadonlyMap<string, string>) {
  if (refusals.has(name)) return "refused";
  try {
    checkRecord(config, name, readRecord(config.stateDir, name) ?? "");
    return "pending";
  } catch (error) {
    return codeOf(error) === "pending_association_mismatch" ? "foreign" : "corrupt";
  }
}

function refusalStep(kind: string): string {
  switch (kind) {
    case "session_closed":
      return "the Session is closed: configure a new Session";
    case "external_observation_capacity":
      return "the Session holds all reports it may: configure a new Session, or raise the server's limit and flush";
    case "external_observation_conflict":
      return "the server holds another report under the same identity: compare the two and remove one";
    case "session_project_mismatch":
      return "the Session belongs to another Project: correct the configuration";
    default:
      return `the server refused with ${kind}: correct the cause and flush`;
  }
}

function sentenceOf(code: string): string {
  if (Object.hasOwn(hooksCodes, code)) return `${hooksCodes[code as HooksCode]} [${code}]`;
  if (code === "private_file_missing") return "A named file or folder does not exist. [private_file_missing]";
  return `It could not be read. [${code}]`;
}

function fine(name: string, text: string): Finding {
  return { name, ok: true, text };
}

function problem(name: string, text: string): Finding {
  return { name, ok: false, text };
}
