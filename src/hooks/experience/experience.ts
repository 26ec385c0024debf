// Turns a candidate lesson into a memory or a Skill, on explicit approval of one exact version for one exact
// destination. Reads no transcript, calls no model; needs no hook and leaves the hooks' files alone.
import { sha256Hex } from "../../base/bytes.ts";
import { Failure } from "../../base/failure.ts";
import { isRecord } from "../../base/json.ts";
import type { HooksCode } from "../codes.ts";
import { loadConfig } from "../config-file.ts";
import type { Asker } from "../handoff.ts";
import { hookLimits } from "../limits.ts";
import { ask } from "../operator-client.ts";
import { compactAscii, type ExactJson, parseExact } from "../python-json.ts";
import { callTool, type Destination, type Effect, lookAt, outputOf, type Place, writeTo } from "./destination.ts";
import { hasUnresolved, keepReceipt, receiptOf, underExperienceLock } from "./receipts.ts";

type Result = Readonly<Record<string, ExactJson>>;

export interface ExperienceOptions {
  readonly configPath: string;
  readonly ask?: Asker;
}

export interface Choice {
  readonly proposal: string;
  readonly version: string;
  readonly destination: Destination;
}

interface Proposal {
  readonly id: string;
  readonly version: string;
  readonly origin: string;
  readonly text: string;
}

function placeOf(options: ExperienceOptions): Place {
  return { config: loadConfig(options.configPath), ask: options.ask ?? ask };
}

/** Stores a candidate as a proposal of the configured Session; the same one again is the same proposal. */
export async function propose(
  wanted: { readonly origin: "operator" | "host"; readonly text: string },
  options: ExperienceOptions,
): Promise<Result> {
  const place = placeOf(options);
  const message = compactAscii({ experience: 1, origin: wanted.origin, text: wanted.text });
  if (wanted.text.trim() === "" || message.length > hookLimits.maxProposalChars) {
    throw new Failure<HooksCode>("experience_text_invalid");
  }
  const version = sha256Hex(message);
  const answer = await callTool(place, "post_session_message", {
    session_id: place.config.workflowSessionId,
    kind: "proposal",
    message,
    tags: ["experience"],
    delivery_key: `experience-${version}`,
  });
  const id = outputOf(answer).output?.["message_id"];
  if (typeof id !== "string") throw new Failure<HooksCode>("experience_unconfirmed");
  return { status: "proposed", proposal: id, version };
}

async function proposalsOf(place: Place): Promise<Proposal[]> {
  const session = place.config.workflowSessionId;
  const answer = await callTool(place, "list_session_messages", { session_id: session, kind: "proposal" });
  const { output } = outputOf(answer);
  const messages = output?.["session_id"] === session ? output["messages"] : undefined;
  if (!Array.isArray(messages)) throw new Failure<HooksCode>("experience_unconfirmed");
  return messages.flatMap((row) => proposalOf(row) ?? []);
}

function proposalOf(row: unknown): Proposal | null {
  if (!isRecord(row) || typeof row["message_id"] !== "string" || typeof row["message"] !== "string") return null;
  const value = parseExact(row["message"]);
  if (!isRecord(value) || value["experience"] !== 1) return null;
  const { origin, text } = value;
  if (typeof origin !== "string" || typeof text !== "string") return null;
  return { id: row["message_id"], version: sha256Hex(row["message"]), origin, text };
}

/** All candidates of the Session with the state of their promotion. */
export async function list(options: ExperienceOptions): Promise<Result> {
  const place = placeOf(options);
  const rows = (await proposalsOf(place)).map((one) => ({
    proposal: one.id,
    version: one.version,
    origin: one.origin,
    text: one.text,
    state: receiptOf(place.config, one.id)?.state ?? "proposed",
  }));
  return { status: "listed", proposals: rows };
}

async function exactProposal(place: Place, choice: { proposal: string; version: string }): Promise<Proposal> {
  const found = (await proposalsOf(place)).find((one) => one.id === choice.proposal);
  if (found?.version !== choice.version) throw new Failure<HooksCode>("experience_version_mismatch");
  return found;
}

/** Approves one version for one destination; a later approval replaces it until a promotion was tried. */
export async function approve(choice: Choice, options: ExperienceOptions): Promise<Result> {
  const place = placeOf(options);
  return await underExperienceLock(place.config.stateDir, async () => {
    const state = receiptOf(place.config, choice.proposal)?.state;
    if (state === "applied") throw new Failure<HooksCode>("experience_already_promoted");
    if (state === "prepared" || state === "unknown") throw new Failure<HooksCode>("unresolved_effect_receipt");
    await exactProposal(place, choice);
    keepReceipt(place.config, { ...choice, state: "approved" });
    return { status: "approved", proposal: choice.proposal };
  });
}

/** Carries out exactly what was approved, once. */
export async function promote(choice: Choice, options: ExperienceOptions): Promise<Result> {
  const place = placeOf(options);
  return await underExperienceLock(place.config.stateDir, async () => {
    if (hasUnresolved(place.config.stateDir)) throw new Failure<HooksCode>("unresolved_effect_receipt");
    const receipt = receiptOf(place.config, choice.proposal);
    if (receipt?.state === "applied") throw new Failure<HooksCode>("experience_already_promoted");
    const { state: _, ...approved } = receipt ?? { state: null };
    const isApproved = receipt?.state === "approved" && Bun.deepEquals(approved, choice);
    if (!isApproved) throw new Failure<HooksCode>("experience_not_approved");
    const { text } = await exactProposal(place, choice);
    keepReceipt(place.config, { ...choice, state: "prepared" });
    return settle(place, choice, await writeTo(place, choice.destination, text));
  });
}

/** Looks at the destination of an attempt without an outcome and records what that proves. */
export async function reconcile(proposal: string, options: ExperienceOptions): Promise<Result> {
  const place = placeOf(options);
  return await underExperienceLock(place.config.stateDir, async () => {
    const receipt = receiptOf(place.config, proposal);
    if (receipt === null || receipt.state === "approved") throw new Failure<HooksCode>("experience_receipt_missing");
    if (receipt.state === "applied") return { status: "applied", proposal };
    const { state: _, ...choice } = receipt;
    const { text } = await exactProposal(place, choice);
    return settle(place, choice, await lookAt(place, choice.destination, text));
  });
}

function settle(place: Place, choice: Choice, effect: Effect): Result {
  keepReceipt(place.config, { ...choice, state: effect.effect });
  const about = { status: effect.effect, proposal: choice.proposal };
  if (effect.effect === "applied") return about;
  if (effect.effect === "unknown")
    return { ...about, next_step: "Look at the destination, then run experience reconcile." };
  return { ...about, error_kind: effect.kind, next_step: "Nothing was written. Approve again with the present state." };
}
