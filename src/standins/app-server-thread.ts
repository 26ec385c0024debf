// What the app-server stand-in remembers of a thread, and how each dialect of Codex shows it. It keeps everything in
// memory: a thread ends with its process. In 0.144.4 `thread/read` lists no command, in 0.171.0 it does.

export const appServerVersions = ["0.144.4", "0.171.0"] as const;
export type AppServerVersion = (typeof appServerVersions)[number];

export interface Item {
  readonly type: "userMessage" | "agentMessage" | "commandExecution";
  readonly id: string;
  readonly [key: string]: unknown;
}

export type TurnStatus = "inProgress" | "completed" | "interrupted";

export interface Turn {
  readonly id: string;
  readonly items: Item[];
  readonly startedAtMs: number;
  readonly interrupt: AbortController;
  status: TurnStatus;
  completedAtMs: number | null;
}

export interface Thread {
  readonly id: string;
  readonly cwd: string;
  readonly model: string;
  readonly createdAtMs: number;
  readonly turns: Turn[];
  updatedAtMs: number;
  status: { readonly type: "idle" } | { readonly type: "active"; readonly activeFlags: readonly string[] };
}

/** The turn that has not ended, if there is one; a thread never has two. */
export function activeTurn(thread: Thread): Turn | undefined {
  return thread.turns.find((turn) => turn.status === "inProgress");
}

/** The thread as an answer shows it; its turns only where they are asked for. */
export function threadView(thread: Thread, version: AppServerVersion, options: { readonly turns: boolean }): object {
  const first = thread.turns[0]?.items[0]?.content;
  return {
    id: thread.id,
    sessionId: thread.id,
    forkedFromId: null,
    parentThreadId: null,
    preview: Array.isArray(first) ? textOf(first) : "",
    ephemeral: false,
    historyMode: version === "0.144.4" ? "legacy" : "paginated",
    modelProvider: "standin",
    ...(version === "0.144.4" ? {} : { model: thread.model }),
    createdAt: seconds(thread.createdAtMs),
    updatedAt: seconds(thread.updatedAtMs),
    status: thread.status,
    path: null,
    cwd: thread.cwd,
    cliVersion: version,
    source: "vscode",
    name: null,
    turns: options.turns ? thread.turns.map((turn) => fullTurn(turn, version)) : [],
  };
}

/** The turn as `turn/start`, `turn/started` and `turn/completed` show it: without its items. */
export function turnView(turn: Turn, version: AppServerVersion): object {
  const done = turn.completedAtMs;
  return {
    id: turn.id,
    ...(version === "0.144.4" ? {} : { rootTurnId: turn.id }),
    items: [],
    itemsView: "notLoaded",
    status: turn.status,
    error: null,
    startedAt: seconds(turn.startedAtMs),
    completedAt: done === null ? null : seconds(done),
    durationMs: done === null ? null : done - turn.startedAtMs,
  };
}

/** The text of a user's input, its other parts left out. */
export function textOf(input: readonly unknown[]): string {
  return input
    .map((part) => (typeof part === "object" && part !== null && "text" in part ? part.text : ""))
    .filter((text) => typeof text === "string")
    .join("\n");
}

function fullTurn(turn: Turn, version: AppServerVersion): object {
  const items = turn.items.filter((item) => version !== "0.144.4" || item.type !== "commandExecution");
  return { ...turnView(turn, version), items, itemsView: "full" };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
