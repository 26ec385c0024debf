// Judges the relay's file: whole, one adapter, one prompt, made with the forced configuration, by the right version.

import { sha256Hex } from "../base/bytes.ts";
import { counted } from "../base/counted.ts";
import { type AuditFacts, type Rule, realAdapterName, realAdapterVersion, type Seats } from "../contract/report.ts";
import { isForcedConfig } from "./managed.ts";
import { ended, notReached, passed, type RuleName } from "./rule.ts";

const names = {
  whole: { rule: "audit_whole", where: "facts.audit.intact" },
  prompt: { rule: "managed_single_prompt", where: "facts.audit.prompts" },
  config: { rule: "managed_forced_config", where: "facts.audit.prompts" },
  later: { rule: "managed_config_kept", where: "facts.audit.configs_after_prompt" },
  version: { rule: "managed_adapter_version", where: "facts.audit.identities" },
} as const satisfies Record<string, RuleName>;

export interface AuditRecordView {
  readonly event: string;
  readonly [field: string]: unknown;
}

/** Counts the records of a relay's file; `whole` is what reading it said about chain, bytes and digest. */
export function auditFacts(
  records: readonly AuditRecordView[],
  whole: Pick<AuditFacts, "sha256" | "intact">,
): AuditFacts {
  const of = (event: string) => records.filter((record) => record.event === event);
  const firstPrompt = records.findIndex((record) => record.event === "prompt_dispatch");
  const later = firstPrompt < 0 ? [] : records.slice(firstPrompt + 1);
  return {
    sha256: whole.sha256,
    intact: whole.intact,
    count: records.length,
    adapter_processes: of("adapter_process_started").length,
    prompts: of("prompt_dispatch")
      .slice(0, 64)
      .map((record) => configOf(record["effective_config"])),
    configs_after_prompt: later
      .filter((record) => record.event === "config_observed")
      .slice(0, 64)
      .map((record) => configOf(record["values"])),
    identities: of("adapter_identity")
      .slice(0, 64)
      .map((record) => ({ name: adapterNameOf(record["name"]), version: wordOf(record["version"]) })),
    frame_limit: of("frame_limit").length > 0,
    audit_limit: of("audit_limit").length > 0,
    adapter_exits: of("adapter_process_exited").length,
  };
}

/** The version the adapter's seat has to show: its own, and the pinned one where the seat is real. */
export function requiredAdapterVersion(seats: Seats | undefined): string {
  const seat = seats?.adapter;
  return seat === undefined || seat.kind === "real" ? realAdapterVersion : seat.version;
}

/** Every rule about the relay's file. */
export function judgeAudit(
  facts: AuditFacts | null,
  seats: Seats | undefined,
  runsAdmitted: number | null | undefined = null,
): Rule[] {
  if (facts === null) {
    const missing = ended(names.whole, "audit_missing", "no readable file");
    return [missing, ...[names.prompt, names.config, names.later, names.version].map(notReached)];
  }
  return [wholeRule(facts), promptRule(facts, runsAdmitted ?? 1), ...configRules(facts), versionRule(facts, seats)];
}

function configOf(value: unknown): Record<string, string | boolean> {
  const config: Record<string, string | boolean> = {};
  if (typeof value !== "object" || value === null) return config;
  for (const [name, given] of Object.entries(value)) {
    if (name.length > 100) continue;
    if (typeof given === "string" || typeof given === "boolean")
      config[name] = typeof given === "string" ? given.slice(0, 100) : given;
    else config[name] = "unlisted";
  }
  return config;
}

/** The real adapter's name begins with @, so the relay keeps its digest only; that one digest is known here. */
function adapterNameOf(value: unknown): string {
  const digest =
    typeof value === "object" && value !== null && "unlisted_sha256" in value ? value.unlisted_sha256 : null;
  return digest === sha256Hex(realAdapterName) ? realAdapterName : wordOf(value);
}

function wordOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 100) : "";
}

function wholeRule(facts: AuditFacts): Rule {
  const fact = counted(facts.count, "record");
  if (!facts.intact) return ended(names.whole, "audit_chain_broken", fact);
  if (facts.frame_limit) return ended(names.whole, "adapter_frame_limit", fact);
  if (!facts.audit_limit) return passed(names.whole, `${fact}, chain whole`);
  const rule = ended(names.whole, "audit_incomplete", fact);
  // But for prompts, what is noted is what the adapter shows: with one prompt it was the adapter that filled the file.
  return facts.prompts.length > 1 ? rule : { ...rule, party: "adapter" };
}

/** A runner that was given more than one run did as it was told; with one run, what went out twice is its own doing. */
function promptRule(facts: AuditFacts, runsAdmitted: number): Rule {
  const fact = `${counted(facts.prompts.length, "prompt")}, ${counted(facts.adapter_processes, "adapter process", "adapter processes")}`;
  if (facts.prompts.length === 1 && facts.adapter_processes === 1) return passed(names.prompt, fact);
  if (facts.audit_limit) return ended(names.prompt, "audit_incomplete", fact);
  const rule = ended(names.prompt, "managed_prompt_redispatched", fact);
  return runsAdmitted > 1 ? { ...rule, party: "server" } : rule;
}

function configRules(facts: AuditFacts): Rule[] {
  const [prompt] = facts.prompts;
  if (prompt === undefined) return [notReached(names.config), notReached(names.later)];
  return [
    facts.prompts.every(isForcedConfig)
      ? passed(names.config, "model and effort at the prompt are the forced ones")
      : ended(
          names.config,
          "actual_forced_model_not_observed",
          "model or effort at the prompt are not the forced ones",
        ),
    facts.configs_after_prompt.every(isForcedConfig)
      ? passed(names.later, `${counted(facts.configs_after_prompt.length, "later configuration")}, all the same`)
      : ended(names.later, "managed_config_changed", "a later configuration is another one"),
  ];
}

function versionRule(facts: AuditFacts, seats: Seats | undefined): Rule {
  const required = requiredAdapterVersion(seats);
  const name = seats?.adapter.name;
  const fact = `${counted(facts.identities.length, "identity", "identities")}, required version ${required}`;
  const shown = facts.identities.some(
    (identity) => identity.version === required && (name === undefined || identity.name === name),
  );
  return shown ? passed(names.version, fact) : ended(names.version, "live_adapter_version_mismatch", fact);
}
