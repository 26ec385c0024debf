// Answers why a hook did nothing: is it in the host's configuration, trusted there, did it run, was it delivered, and
// what is the next step. Reads the host's files and the private ledger; changes nothing.
import { decodeUtf8 } from "../base/bytes.ts";
import { codeOf } from "../base/failure.ts";
import { readRegularFile } from "../base/private-files.ts";
import { hooksCodes, operatorFileCodes } from "./codes.ts";
import { type HookConfig, loadConfig } from "./config-file.ts";
import { checkRecord } from "./delivery.ts";
import { type LedgerLine, readLedger } from "./ledger.ts";
import { hookLimits } from "./limits.ts";
import { readAuthorization, requireStateFolder } from "./operator-files.ts";
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
  if (config !== null) findings.push(authorizationFinding(config));
  const registry = options.registryPath === undefined ? null : registryFinding(options.registryPath);
  if (registry !== null) findings.push(registry.finding);
  findings.push(...hostFindings(options));
  if (config !== null) findings.push(...observeFindings(config));
  const recoverState = registry?.stateDir ?? config?.stateDir;
  if (recoverState !== undefined) findings.push(recoverFinding(recoverState, options.registryPath !== undefined));
  return { healthy: findings.every((one) => one.ok), findings };
}

function authorizationFinding(config: HookConfig): Finding {
  try {
    readAuthorization(config.authorizationFile);
    return fine("authorization", "The authorization file is private and holds one header value.");
  } catch (error) {
    return problem("authorization", sentenceOf(codeOf(error)));
  }
}

function registryFinding(path: string): { finding: Finding; stateDir?: string } {
  try {
    const { bindings, stateDir } = loadRegistry(path);
    requireStateFolder(stateDir);
    const count = bindings.length;
    if (count > 0) return { stateDir, finding: fine("registry", `${count} association${count === 1 ? "" : "s"}.`) };
    const text = "There is no association yet; run recovery discover and associate.";
    return { stateDir, finding: problem("registry", text) };
  } catch (error) {
    return { finding: problem("registry", sentenceOf(codeOf(error))) };
  }
}

function hostFindings(options: DoctorOptions): Finding[] {
  const toml = hostText(`${options.codexHome}/config.toml`);
  const host = { toml, all: `${hostText(`${options.codexHome}/hooks.json`)}\n${toml}` };
  const findings = hookFindings(host, { path: options.configPath, events: ["post_tool_use"], prefix: "" });
  if (options.registryPath !== undefined) {
    const events = ["session_start", "user_prompt_submit"];
    findings.push(...hookFindings(host, { path: options.registryPath, events, prefix: "recover " }));
  }
  if (/^\s*hooks\s*=\s*false/m.test(toml)) findings.push(problem("feature", "Hooks are switched off in the host."));
  return findings;
}

interface HookPlace {
  readonly path: string;
  readonly events: readonly string[];
  readonly prefix: string;
}

/** Whether the host names a hook and trusts something for each of its events. */
function hookFindings(host: { readonly toml: string; readonly all: string }, hook: HookPlace): Finding[] {
  const { path, events, prefix } = hook;
  const configured = host.all.includes(path) || host.all.includes(JSON.stringify(path).slice(1, -1));
  if (!configured) {
    const text = "The host's configuration does not name this hook; paste the output of hook config.";
    return [problem(`${prefix}configured`, text)];
  }
  // The hash is the host's own and differs between its versions, so only its presence can be told from here.
  const trusts = (event: string) =>
    new RegExp(`\\[hooks\\.state\\."[^"\\n]*:${event}:\\d+:\\d+"\\]\\s*\\n\\s*trusted_hash\\s*=\\s*"sha256:`).test(
      host.toml,
    );
  const missing = events.filter((event) => !trusts(event));
  return [
    fine(`${prefix}configured`, "The host's configuration names this hook."),
    missing.length === 0
      ? fine(`${prefix}trusted`, `The host has a trust entry for ${events.join(" and ")}.`)
      : problem(
          `${prefix}trusted`,
          `The host has no trust entry for ${missing.join(" and ")} and skips that hook silently; trust it in the host.`,
        ),
  ];
}

function hostText(path: string): string {
  try {
    return decodeUtf8(readRegularFile(path, { maxBytes: 1024 * 1024 })) ?? "";
  } catch {
    // Missing or unreadable is the same here: the host's configuration does not name us.
    return "";
  }
}

function observeFindings(config: HookConfig): Finding[] {
  const lines = readLedger(config.stateDir).filter((line) => line.hook !== "recover");
  const fired = lines.filter((line) => line.hook === "observe").length;
  const findings = [
    fired > 0
      ? fine("fired", `The observing hook ran ${fired} times by its ledger.`)
      : problem("fired", "The observing hook has not run yet; use one tool in the configured conversation."),
    failureFinding("observe failures", lines),
  ];
  try {
    findings.push(outboxFinding(config));
  } catch (error) {
    findings.push(problem("delivered", sentenceOf(codeOf(error))));
  }
  return findings;
}

/** The recovering hook notes its runs where its registry keeps its state. */
function recoverFinding(stateDir: string, wanted: boolean): Finding {
  const lines = readLedger(stateDir).filter((line) => line.hook === "recover");
  if (wanted && lines.length === 0) {
    return problem(
      "recover fired",
      "The recovering hook has not run yet; start a conversation in an associated folder.",
    );
  }
  return failureFinding("recover failures", lines);
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
  const known: Readonly<Record<string, string>> = { ...operatorFileCodes, ...hooksCodes };
  if (Object.hasOwn(known, code)) return `${known[code]} [${code}]`;
  if (code === "private_file_missing") return "A named file or folder does not exist. [private_file_missing]";
  return `It could not be read. [${code}]`;
}

function fine(name: string, text: string): Finding {
  return { name, ok: true, text };
}

function problem(name: string, text: string): Finding {
  return { name, ok: false, text };
}
