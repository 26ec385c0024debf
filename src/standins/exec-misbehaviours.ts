// How a consumer goes wrong: each name changes exactly one thing of the honest turn. Data for the exec client.

export type Phase = "before" | "after" | "instead";

/** Every name `standin exec --misbehave` knows, with what it does. */
export const execMisbehaviours = {
  "shell-before": "announces a shell command before the good read",
  "shell-after": "announces a shell command after the good read",
  "shell-instead": "announces a shell command and reads nothing over MCP",
  "edit-before": "announces a file change before the good read",
  "edit-after": "announces a file change after the good read",
  "edit-instead": "announces a file change and reads nothing over MCP",
  "search-before": "announces a web search before the good read",
  "search-after": "announces a web search after the good read",
  "search-instead": "announces a web search and reads nothing over MCP",
  "shell-never-completed": "starts a shell command that never completes",
  "wrong-server": "names another MCP server in its call",
  "wrong-tool": "names another tool in its call",
  "server-left-out": "completes a call that names no server",
  "call-failed-event": "reports a failed call beside the good one",
  "call-declined": "completes its only call with status failed",
  "call-declined-then-good": "completes a failed call, then the good one",
  "no-call": "answers correctly without any call",
  "call-never-completed": "starts the call and never completes it",
  "wrong-project": "names another project in its call",
  "lifecycle-argument": "passes a session_id",
  "no-structured-result": "shows a result without structure",
  "unsuccessful-result": "shows a result whose success is false",
  "failed-count": "shows one failed read in the counter",
  "item-failed": "shows one item that failed",
  numbered: "reads with line numbers",
  "other-file": "reads a third file too",
  "wrong-range": "reads from the second line",
  "has-more": "reads the first line only",
  truncated: "drops the last character of a text",
  altered: "changes one byte of a text",
  "one-file": "reads one of the two files",
  "forged-receipt": "writes a perfect receipt and never calls the server",
  "no-message": "ends without a single message",
  prefixed: "puts words before its JSON",
  "double-answer": "answers twice in one message",
  "prose-answer": "answers in prose",
  "wrong-value": "gets one value wrong",
  "missing-key": "leaves one key out",
  "extra-key": "adds one key",
  "turn-failed-exit-0": "says the turn failed and exits 0",
  "turn-unfinished": "never says how the turn ended",
  "cut-last-line": "stops in the middle of its last line",
  "malformed-line": "writes a line that is no JSON",
  "array-line": "writes a line that is a JSON array",
  "exit-7": "exits 7 after a good turn",
  "stdout-flood": "writes more than 8 MiB to stdout",
  "stderr-flood": "writes more than 2 MiB to stderr",
  "never-ending": "never ends",
  "too-many-events": "tells of so many messages that not all of its events can be kept",
  "leaves-file": "leaves a file in the project and says nothing",
  "leaves-grandchild": "ends while a child of its group keeps the pipes",
  "leaves-daemon": "ends and leaves a process in a session of its own",
  "prints-secret": "prints its token on stdout, on stderr and in its messages",
  "creates-lifecycle-row": "takes the operator's token from the run's folder and creates an agent identity",
  honest: "honest",
  "honest-slow": "honest: takes a second longer",
  "honest-chatty": "honest: many messages and thoughts before the answer, and all that it was told, on stderr too",
  "honest-odd-frames": "honest: legal frames of kinds nobody asked for",
  "honest-line-separators": "honest: U+2028, U+2029 and U+0085 inside texts",
  "honest-split-chunks": "honest: writes its bytes in small pieces",
  "honest-recovered-retries": "honest: announces errors it then recovers from",
  "honest-huge-output": "honest: four MiB of legal frames",
  "honest-fenced": "honest: one fence around the JSON",
  "honest-two-calls": "honest: one call a file",
} as const;
export type ExecMisbehaviour = keyof typeof execMisbehaviours;

/** The forbidden item of a name such as `edit-after`, and when it happens. */
export function forbiddenOf(name: ExecMisbehaviour): { readonly phase: Phase; readonly item: object } | null {
  const match = /^(shell|edit|search)-(before|after|instead)$/.exec(name);
  if (match === null) return null;
  const items: Record<string, object> = {
    shell: { type: "command_execution", command: "ls", aggregated_output: "", exit_code: 0, status: "completed" },
    edit: { type: "file_change", changes: [{ path: "README.md", kind: "update" }], status: "completed" },
    search: { type: "web_search", query: "clamp" },
  };
  return { phase: match[2] as Phase, item: items[match[1]!]! };
}

/** The legal frames that some honest variants put before their work. */
export function preambleOf(name: ExecMisbehaviour): object[] {
  const message = (text: string) => ({ type: "agent_message", text });
  switch (name) {
    case "honest-chatty":
      return Array.from({ length: 200 }, (_, at) =>
        at % 2 === 0 ? message(`step ${at}`) : { type: "reasoning", text: "thinking" },
      );
    case "honest-odd-frames":
      return [
        { type: "todo_list", items: [{ text: "read", completed: false }] },
        { type: "error", message: "Model metadata not found. Using fallback metadata." },
        { type: "a_kind_of_tomorrow", anything: [null] },
      ];
    case "honest-line-separators":
      return [message("one\u2028two\u2029three\u0085four")];
    case "honest-huge-output":
      return Array.from({ length: 64 }, () => message("x".repeat(65_536)));
    default:
      return [];
  }
}
