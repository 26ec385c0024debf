// Where a lesson can go: one memory or one Skill definition of the configured Project. Writes only over what the
// approval expected to find there, and can look at what is there now. The server's answer is weighed, never trusted.
import { decodeUtf8, sha256Hex } from "../../base/bytes.ts";
import { Failure } from "../../base/failure.ts";
import { isRecord } from "../../base/json.ts";
import type { HooksCode } from "../codes.ts";
import type { HookConfig } from "../config-file.ts";
import type { Asker } from "../handoff.ts";
import { hookLimits } from "../limits.ts";
import { type Answer, isSuccess } from "../operator-client.ts";
import { type ExactJson, parseExact } from "../python-json.ts";

export interface Destination {
  readonly kind: "memory" | "skill";
  readonly name: string;
  /** The revision (memory) or digest (Skill) that has to be there; null: nothing may be there. */
  readonly expected: string | null;
}

export interface Place {
  readonly config: HookConfig;
  readonly ask: Asker;
}

/** What a write did: only an answer that says so settles it. */
export type Effect =
  | { readonly effect: "applied" }
  | { readonly effect: "not_applied"; readonly kind: string }
  | { readonly effect: "unknown" };

const namePatterns = { memory: /^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/, skill: /^[a-z0-9][a-z0-9-]{0,63}$/ } as const;
const expectedPatterns = { memory: /^[1-9][0-9]{0,14}$/, skill: /^[0-9a-f]{64}$/ } as const;

/** `memory:KEY` or `skill:NAME` with the state it must be in, or a refusal. */
export function parseDestination(text: string, expected: string): Destination {
  const at = text.indexOf(":");
  const [kind, name] = [text.slice(0, at), text.slice(at + 1)];
  if ((kind !== "memory" && kind !== "skill") || !namePatterns[kind].test(name)) throw invalid();
  if (expected !== "absent" && !expectedPatterns[kind].test(expected)) throw invalid();
  return { kind, name, expected: expected === "absent" ? null : expected };
}

function invalid(): Failure<HooksCode> {
  return new Failure<HooksCode>("experience_destination_invalid");
}

/** Calls one tool of the operator's server. */
export async function callTool(place: Place, tool: string, params: { [key: string]: ExactJson }): Promise<Answer> {
  return await place.ask(place.config, {
    route: "/api/tools/call",
    body: { tool, params },
    timeoutMs: hookLimits.readDeadlineMs,
    tooLarge: "oversized_response",
  });
}

/** The tool's output when the call succeeded, else null with the server's word. */
export function outputOf(answer: Answer): { output: Record<string, unknown> | null; kind: string | null } {
  const value = parseExact(decodeUtf8(answer.body) ?? "");
  const output = isRecord(value) && isRecord(value["output"]) ? value["output"] : null;
  if (isSuccess(answer) && isRecord(value) && value["success"] === true) return { output, kind: null };
  const kind = answer.status === 400 ? output?.["error_kind"] : undefined;
  return { output: null, kind: typeof kind === "string" && /^[a-z0-9_]{1,100}$/.test(kind) ? kind : null };
}

/** Refusals of which the server says that nothing was changed. */
const settled = new Set([
  "memory_revision_conflict",
  "memory_capacity",
  "skill_conflict",
  "skill_not_written",
  "project_not_found",
  "agent_unavailable",
]);

/** Writes the text if the destination is as expected. */
export async function writeTo(place: Place, destination: Destination, text: string): Promise<Effect> {
  const { project } = place.config;
  const { kind, name, expected } = destination;
  try {
    const answer =
      kind === "memory"
        ? await callTool(place, "memory_set", {
            project,
            memory_key: name,
            value: text,
            expected_revision: expected === null ? null : Number(expected),
          })
        : await callTool(place, "write_project_skill", {
            project,
            name,
            text,
            ...(expected === null ? { absent: true } : { expected_sha256: expected }),
          });
    const { output, kind: refusal } = outputOf(answer);
    if (refusal !== null)
      return settled.has(refusal) ? { effect: "not_applied", kind: refusal } : { effect: "unknown" };
    return output?.["project"] === project && output["state_changed"] === true
      ? { effect: "applied" }
      : { effect: "unknown" };
  } catch {
    // The request may have arrived; only a look at the destination can tell.
    return { effect: "unknown" };
  }
}

/** What a look at the destination proves about a write of `text`. */
export async function lookAt(place: Place, destination: Destination, text: string): Promise<Effect> {
  const found =
    destination.kind === "memory" ? await lookAtMemory(place, destination) : await lookAtSkill(place, destination);
  if (found === undefined) throw new Failure<HooksCode>("experience_unconfirmed");
  if (found?.text === text) return { effect: "applied" };
  if ((found?.state ?? null) === destination.expected) return { effect: "not_applied", kind: "destination_unchanged" };
  return { effect: "unknown" };
}

/** Null: nothing is there. Undefined: the server gave no usable answer. */
type Found = { readonly state: string; readonly text: string } | null | undefined;

async function lookAtMemory(place: Place, destination: Destination): Promise<Found> {
  const { project } = place.config;
  const { output, kind } = outputOf(await callTool(place, "memory_read", { project, memory_key: destination.name }));
  if (kind === "memory_not_found") return null;
  const memory = output?.["project"] === project ? output["memory"] : undefined;
  if (!isRecord(memory) || typeof memory["value"] !== "string") return undefined;
  return { state: String(memory["revision"]), text: memory["value"] };
}

async function lookAtSkill(place: Place, destination: Destination): Promise<Found> {
  const { project } = place.config;
  const path = `.agents/skills/${destination.name}/SKILL.md`;
  const { output } = outputOf(await callTool(place, "read_files", { project, items: [{ path }] }));
  const [item] = output?.["project"] === project && Array.isArray(output["items"]) ? output["items"] : [];
  if (!isRecord(item) || !isRecord(item["output"])) return undefined;
  if (item["success"] === false) return item["output"]["reason_code"] === "not_found" ? null : undefined;
  const text = item["output"]["text"];
  return typeof text === "string" ? { state: sha256Hex(text), text } : undefined;
}
