// Plays one turn of the app-server stand-in. A prompt that says "approve" asks leave for a command and waits for the
// answer, one that says "slow" waits until it is interrupted, every other one ends at once. No command is ever run.
import { isRecord } from "../base/json.ts";
import { type AppServerVersion, type Item, type Thread, type Turn, textOf, turnView } from "./app-server-thread.ts";

/** What a turn needs of the server around it. */
export interface TurnStage {
  readonly version: AppServerVersion;
  readonly thread: Thread;
  readonly turn: Turn;
  newId(): string;
  nowMs(): number;
  notify(method: string, params: object): void;
  /** Asks whoever follows the thread; gives the answer's result, or null for an error or an interrupt. */
  ask(method: string, params: object): Promise<unknown>;
}

export async function playTurn(stage: TurnStage, input: readonly unknown[]): Promise<void> {
  const text = textOf(input).toLowerCase();
  const { signal } = stage.turn.interrupt;
  setStatus(stage, []);
  stage.notify("turn/started", { threadId: stage.thread.id, turn: turnView(stage.turn, stage.version) });
  const said = item(stage, "userMessage", { id: stage.newId(), clientId: null, content: input });
  begin(stage, said);
  end(stage, said);
  if (text.includes("approve")) await askLeave(stage);
  if (text.includes("slow") && !signal.aborted) {
    say(stage, { text: "starting a long job", phase: "commentary" });
    await aborted(signal);
  }
  if (!signal.aborted) say(stage, { text: "all done", phase: "final_answer" });
  finish(stage);
}

async function askLeave(stage: TurnStage): Promise<void> {
  const command = "/bin/sh -c 'touch approved.txt'";
  const facts = { command, cwd: stage.thread.cwd, commandActions: [{ type: "unknown", command }] };
  const waiting = item(stage, "commandExecution", {
    ...facts,
    id: `exec-${stage.newId()}`,
    processId: null,
    source: "agent",
    status: "inProgress",
    aggregatedOutput: null,
    exitCode: null,
    durationMs: null,
  });
  begin(stage, waiting);
  setStatus(stage, ["waitingOnApproval"]);
  const answer = await stage.ask("item/commandExecution/requestApproval", {
    ...(stage.version === "0.144.4" ? {} : { kind: "command" }),
    threadId: stage.thread.id,
    turnId: stage.turn.id,
    itemId: waiting.id,
    startedAtMs: stage.nowMs(),
    environmentId: "local",
    reason: "scripted",
    ...facts,
    proposedExecpolicyAmendment: ["touch", "approved.txt"],
    availableDecisions: ["accept", "cancel"],
  });
  setStatus(stage, []);
  const decision = isRecord(answer) ? answer.decision : undefined;
  // Whatever is no clear yes is a no; a cancel ends the turn as an interrupt would.
  const agreed = decision === "accept" || decision === "acceptForSession";
  if (decision === "cancel") stage.turn.interrupt.abort();
  const result = agreed ? { aggregatedOutput: "", exitCode: 0, durationMs: 0 } : {};
  end(stage, { ...waiting, status: agreed ? "completed" : "declined", ...result });
}

function say(stage: TurnStage, message: { readonly text: string; readonly phase: string }): void {
  const told = item(stage, "agentMessage", { id: `msg_${stage.newId()}`, ...message, memoryCitation: null });
  begin(stage, { ...told, text: "" });
  stage.notify("item/agentMessage/delta", { ...place(stage), itemId: told.id, delta: message.text });
  end(stage, told);
}

function finish(stage: TurnStage): void {
  const { thread, turn, version } = stage;
  turn.status = turn.interrupt.signal.aborted ? "interrupted" : "completed";
  turn.completedAtMs = stage.nowMs();
  thread.updatedAtMs = turn.completedAtMs;
  thread.status = { type: "idle" };
  stage.notify("thread/status/changed", { threadId: thread.id, status: thread.status });
  stage.notify("turn/completed", { threadId: thread.id, turn: turnView(turn, version) });
}

function setStatus(stage: TurnStage, activeFlags: readonly string[]): void {
  stage.thread.status = { type: "active", activeFlags };
  stage.notify("thread/status/changed", { threadId: stage.thread.id, status: stage.thread.status });
}

function item(stage: TurnStage, type: Item["type"], facts: { readonly id: string; [key: string]: unknown }): Item {
  const times = stage.version === "0.144.4" ? {} : { startedAtMs: stage.nowMs(), completedAtMs: null };
  return { type, ...facts, ...times };
}

function begin(stage: TurnStage, started: Item): void {
  stage.notify("item/started", { item: started, ...place(stage), startedAtMs: stage.nowMs() });
}

function end(stage: TurnStage, ended: Item): void {
  const done = stage.version === "0.144.4" ? ended : { ...ended, completedAtMs: stage.nowMs() };
  stage.turn.items.push(done);
  stage.notify("item/completed", { item: done, ...place(stage), completedAtMs: stage.nowMs() });
}

function place(stage: TurnStage): { readonly threadId: string; readonly turnId: string } {
  return { threadId: stage.thread.id, turnId: stage.turn.id };
}

function aborted(signal: AbortSignal): Promise<void> {
  const done = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => done.resolve(), { once: true });
  return done.promise;
}
