// The brief of a Session: made from stored rows by fixed rules, no model asked, always below 8 KiB of compact JSON.
// Reports of adapters stand in their own section, claim no completeness and change no other line of it.
import { serverLimits } from "./limits.ts";
import { type MessageRow, messagesOf } from "./messages.ts";
import { coverage, reportRow, reportsOf } from "./observations.ts";
import { type Excerpt, excerptOf } from "./redaction.ts";
import { type EventRow, eventsOf, type SessionRow } from "./sessions.ts";
import type { Database } from "./store.ts";

const excerptChars = 600;
const noteChars = 300;
const notesKept = 3;
const readTools: ReadonlySet<string> = new Set(["read_files"]);

interface List {
  items: string[];
  total: number;
  returned: number;
  truncated: boolean;
}

interface Note {
  readonly text: string | null;
  readonly truncated: boolean;
}

export interface OpenCounts {
  readonly open_guidance: number;
  readonly open_risks: number;
  readonly open_questions: number;
  readonly open_todos: number;
}

export interface BriefAsked {
  readonly workspace: boolean;
  readonly validation: boolean;
}

/** How many messages of each kind still wait for somebody. */
export function openCounts(messages: readonly MessageRow[]): OpenCounts {
  const open = (kind: string) => messages.filter((row) => row.kind === kind && row.resolved_at === null).length;
  return {
    open_guidance: open("guidance"),
    open_risks: open("risk"),
    open_questions: open("question"),
    open_todos: open("todo"),
  };
}

/** The brief; the same rows give the same bytes. */
export function handoffBrief(db: Database, session: SessionRow, asked: BriefAsked): Record<string, unknown> {
  const events = eventsOf(db, session.session_id);
  const messages = messagesOf(db, session.session_id);
  const open = openCounts(messages);
  const progress = progressOf(events, session, open);
  const notes = notesOf(messages);
  const task = taskOf(session, events);
  const workspace = asked.workspace ? "unavailable" : "not_requested";
  const validation = asked.validation ? "unavailable" : "not_requested";
  const brief = {
    version: 1,
    session: { session_id: session.session_id, lifecycle: session.lifecycle, mode: session.mode },
    task,
    workspace: {
      status: workspace,
      reason_code: `workspace_${workspace}`,
      branch: null,
      head: null,
      dirty: null,
      conflicted: null,
      ahead: null,
      behind: null,
    },
    progress,
    validation: { status: validation, open_failures: listOf([], 5), reason_code: `validation_${validation}` },
    attention: {
      workspace_conflict: null,
      blocking_jobs: null,
      terminal_pending_jobs: null,
      recovering_jobs: null,
      ...open,
    },
    notes,
    next_actions: nextActions(session, open, progress),
    basis: {
      complete: false,
      reason_codes: ["job_summary_unavailable", `validation_${validation}`, `workspace_${workspace}`],
    },
    external_observations: externalSection(db, session.session_id),
    deterministic: true,
    llm_summary: false,
  };
  shrink(brief, [progress.recent_files, progress.changes], { notes, task });
  return brief;
}

type Task = { root_instruction: Excerpt; latest_instruction: Excerpt };

function taskOf(session: SessionRow, events: readonly EventRow[]): Task {
  const latest = events.filter((event) => event.kind === "task_instruction").at(-1)?.text ?? session.title;
  return {
    root_instruction: excerptOf(session.title, excerptChars),
    latest_instruction: excerptOf(latest, excerptChars),
  };
}

/** The newest `max` of these texts, each once, newest first. */
function listOf(texts: readonly string[], max: number): List {
  const distinct = [...new Set([...texts].reverse())];
  const items = distinct.slice(0, max).map((text) => excerptOf(text, 240).excerpt ?? "");
  return { items, total: distinct.length, returned: items.length, truncated: items.length < distinct.length };
}

function progressOf(events: readonly EventRow[], session: SessionRow, open: OpenCounts) {
  const calls = events.filter((event) => event.kind === "tool_call");
  const paths = (row: EventRow): string[] => (row.paths === null ? [] : (JSON.parse(row.paths) as string[]));
  const wrote = calls.filter((row) => !readTools.has(row.tool ?? "") && row.outcome === "succeeded");
  const state = session.lifecycle === "closed" ? "closed" : open.open_risks > 0 ? "blocked" : "insufficient_evidence";
  return {
    state,
    meaningful_tool_calls: calls.length,
    changes: listOf(wrote.flatMap(paths), 12),
    recent_files: listOf(calls.flatMap(paths), 8),
  };
}

interface Notes {
  decisions: Note[];
  progress: Note[];
  total: number;
  returned: number;
  truncated: boolean;
}

function notesOf(messages: readonly MessageRow[]): Notes {
  const all = messages.filter((row) => row.kind === "decision" || row.kind === "progress");
  const last = (kind: string) =>
    all
      .filter((row) => row.kind === kind)
      .slice(-notesKept)
      .map((row): Note => {
        const { excerpt, truncated } = excerptOf(row.message, noteChars);
        return { text: excerpt, truncated };
      });
  const notes = { decisions: last("decision"), progress: last("progress"), total: all.length };
  const returned = notes.decisions.length + notes.progress.length;
  return { ...notes, returned, truncated: returned < all.length };
}

function nextActions(session: SessionRow, open: OpenCounts, progress: { readonly changes: List; recent_files: List }) {
  if (session.lifecycle === "closed") return [];
  const actions: string[] = [];
  if (open.open_risks > 0) actions.push("Settle the open risks before you change anything.");
  if (open.open_questions + open.open_todos + open.open_guidance > 0)
    actions.push("Look through the open questions, todos and guidance.");
  if (progress.changes.total > 0) actions.push("Inspect the present changes, then go on.");
  else if (progress.recent_files.total > 0) actions.push("Go on from the files that were read last.");
  return actions.length > 0 ? actions : ["Take the next step of the task."];
}

/** The last five reports exactly as stored; those without an exit code are counted over all of them. */
function externalSection(db: Database, sessionId: string): Record<string, unknown> {
  const all = reportsOf(db, sessionId);
  const observations = all.slice(-5).map(reportRow);
  return {
    status: "available",
    reason_code: null,
    provenance: "external_report",
    coverage,
    total: all.length,
    returned: observations.length,
    truncated: observations.length < all.length,
    unknown_count: all.filter((row) => row.exit_code === null).length,
    observations,
  };
}

/** Takes away the least telling first until the bound holds: files, notes beyond one each, then instruction text. */
function shrink(brief: object, lists: readonly List[], parts: { readonly notes: Notes; readonly task: Task }): void {
  const fits = () => Buffer.byteLength(JSON.stringify(brief)) < serverLimits.briefBytes;
  for (const list of lists) {
    while (!fits() && list.items.length > 0) {
      list.items.pop();
      list.returned -= 1;
      list.truncated = true;
    }
  }
  for (const kept of [parts.notes.progress, parts.notes.decisions]) {
    while (!fits() && kept.length > 1) {
      kept.shift();
      parts.notes.returned -= 1;
      parts.notes.truncated = true;
    }
  }
  while (!fits() && shorten(parts.task));
}

/** Halves the longer instruction; false when there is nothing left to take. */
function shorten(task: Task): boolean {
  const length = (one: Excerpt) => [...(one.excerpt ?? "")].length;
  const key =
    length(task.latest_instruction) > length(task.root_instruction) ? "latest_instruction" : "root_instruction";
  const characters = [...(task[key].excerpt ?? "")];
  if (characters.length === 0) return false;
  task[key] = { excerpt: characters.slice(0, Math.floor(characters.length / 2)).join(""), truncated: true };
  return true;
}
