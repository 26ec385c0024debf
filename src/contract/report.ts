// The words of `report.json`: the seed's fields, and beside them the facts every rule is judged from.
// The seed's sections stay open (a stage adds its own fields); everything the verdict rests on is strict.
// Free text of a subject never enters: it is a digest, a word of a short list, or what we ourselves wrote.
import { z } from "./schema.ts";

/** Name of the format, unchanged since the seed. */
export const reportFormat = "webcodex-codex-bidirectional-v1";
/** The one model and effort an acceptance run is made with. */
export const acceptanceModel = "gpt-5.6-luna";
export const acceptanceEffort = "medium";
/** The package that a real adapter is, which is also the name it gives itself. */
export const realAdapterName = "@agentclientprotocol/codex-acp";
/** The version a real adapter has to show on the wire. */
export const realAdapterVersion = "2.1.1";
/** Every phase a run can be in; the report's `phase` and its timeline know no other. */
export const reportPhases = [
  "preflight",
  "services_ready",
  "consumer_running",
  "consumer_tool_receipt_verified",
  "consumer_accepted",
  "consumer_failed",
  "attempt_claimed",
  "coding_run_bound",
  "observing_before_server_restart",
  "before_server_restart",
  "server_recovered_original_run",
  "observing_original_run",
  "managed_and_recovery_accepted",
  "managed_accepted_recovery_incomplete",
  "managed_failed",
  "tool_failure",
  "accepted",
  "acceptance_incomplete",
  "failed",
  "closed",
] as const;
export type ReportPhase = (typeof reportPhases)[number];
/** States in which a run has ended. */
export const terminalStates = ["completed", "failed", "cancelled", "lost"] as const;

const Count = z.number().int().nonnegative();
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const Word = z.string().max(200);
const Path = z.string().max(4096);

export const Outcome = z.enum(["pass", "fail", "incomplete", "not_applicable"]);
export type Outcome = z.infer<typeof Outcome>;

export const Rule = z.strictObject({
  rule: Word,
  outcome: Outcome,
  code: Word.optional(),
  party: Word.optional(),
  fact: z.string().max(600),
  where: z.string().max(300),
});
export type Rule = z.infer<typeof Rule>;

export const Verdict = z.strictObject({
  outcome: z.enum(["passed", "failed", "incomplete"]),
  rules: z.array(Rule).max(100),
  not_proven: z.array(z.string().max(300)).max(100),
});
export type Verdict = z.infer<typeof Verdict>;

export const Seat = z.strictObject({
  kind: z.enum(["embedded", "standin", "real"]),
  name: Word,
  version: z.string().max(512),
  path: Path,
  sha256: Sha256,
});
export type Seat = z.infer<typeof Seat>;

export const Seats = z.strictObject({
  control_plane: Seat,
  consumer: Seat,
  adapter: Seat,
  model: Seat.nullable(),
});
export type Seats = z.infer<typeof Seats>;

const Ids = z.strictObject({ task_id: Word.nullable(), attempt_id: Word.nullable(), run_id: Word.nullable() });
export type ExecutionIds = z.infer<typeof Ids>;

/** One structured result of a file read, reduced to what the rules ask about. */
const ReadItemFact = z.strictObject({
  success: z.boolean(),
  path: z.string().max(400).nullable(),
  numbered: z.boolean(),
  from_first_line: z.boolean(),
  has_more: z.boolean(),
  text_sha256: Sha256.nullable(),
});
const McpCallFact = z.strictObject({
  status: Word.nullable(),
  has_error: z.boolean(),
  has_result: z.boolean(),
  project: z.enum(["same", "other"]),
  lifecycle_keys: z.array(Word).max(3),
  structured: z.enum(["present", "missing"]),
  success: z.boolean(),
  failed_count_zero: z.boolean(),
  items: z.array(ReadItemFact).max(64),
});
/** One event of the consumer's stream, reduced. Unknown words are `other`; a name left out is null. */
export const ConsumerFrameFact = z.strictObject({
  event: Word,
  item: Word.nullable(),
  id: Word.nullable(),
  server: z.enum(["expected", "other"]).nullable(),
  tool: z.enum(["expected", "other"]).nullable(),
  call: McpCallFact.nullable(),
  answer: z.enum(["equal", "different", "not_json"]).nullable(),
});
export type ConsumerFrameFact = z.infer<typeof ConsumerFrameFact>;

export const ReceiptFact = z.strictObject({
  tool: Word,
  project: Word,
  path: z.string().max(400),
  text_sha256: Sha256,
});
export type ReceiptFact = z.infer<typeof ReceiptFact>;

const LifecycleCounts = z.strictObject({ sessions: Count, goals: Count, agents: Count, tasks: Count });
export type LifecycleCounts = z.infer<typeof LifecycleCounts>;

export const ConsumerFacts = z.strictObject({
  ended: z.enum(["not_started", "exited", "deadline", "output_limit"]),
  exit_code: z.number().int().nullable(),
  signal: Word.nullable(),
  stream: z.strictObject({
    over_limit: z.boolean(),
    malformed_lines: Count,
    not_object_lines: Count,
    cut_last_line: z.boolean(),
    frames_not_kept: Count,
  }),
  frames: z.array(ConsumerFrameFact).max(4096),
  expected: z.strictObject({ project: Word, files: z.record(z.string().max(400), Sha256) }),
  /** Rows the server itself wrote for the consumer's credential; null where the seat cannot answer. */
  receipts: z.array(ReceiptFact).max(1024).nullable(),
  /** Whether our own read of another file, made for this, left its right receipt; null where nobody can answer. */
  control_receipt: z.enum(["kept", "missing", "wrong"]).nullable().optional(),
  /** Processes the consumer started that lived on after its own group had ended. */
  left_processes: Count.optional(),
  fixture_unchanged: z.boolean().nullable(),
  lifecycle_before: LifecycleCounts.nullable(),
  lifecycle_after: LifecycleCounts.nullable(),
});
export type ConsumerFacts = z.infer<typeof ConsumerFacts>;

export const TestResult = z.strictObject({ exit_code: z.number().int(), tests_run: Count, output_sha256: Sha256 });
export type TestResult = z.infer<typeof TestResult>;

/** How many of the values asked of the implementation were right. */
export const ProbeResult = z.strictObject({ cases: Count, right: Count });
export type ProbeResult = z.infer<typeof ProbeResult>;

/** One answer of `observe_coding_agent`, as the rules weigh it. */
export const ObservationFact = z.strictObject({
  when: z.enum(["before_restart", "after_restart"]),
  at_ms: Count,
  run_id: Word.nullable(),
  state: Word.nullable(),
  execution_state: Word.nullable(),
  history_lost: z.boolean().nullable(),
  has_token: z.boolean(),
  has_more: z.boolean(),
  events: z.record(Word, Count),
});
export type ObservationFact = z.infer<typeof ObservationFact>;

export const RecoveryFacts = z.strictObject({
  bound: Ids,
  replay_run_id: Word.nullable(),
  observations: z.array(ObservationFact).max(4096),
  observation_deadline: z.enum(["before_restart", "after_restart"]).nullable(),
  phase_before_disconnect: Word.nullable(),
  runner_ended: z.enum(["before_restart", "server_stop", "during_run"]).nullable(),
  old_server_pid: Count.nullable(),
  new_server_pid: Count.nullable(),
  runner_pid_before: Count.nullable(),
  runner_pid_after: Count.nullable(),
  task_id_after_restart: Word.nullable(),
  reconciled: Ids.nullable(),
  reconciled_at_end: Ids.nullable(),
  /** Runs the runner wrote down in its own journal; null or absent where it cannot be read. */
  runs_admitted: Count.nullable().optional(),
  /** Whether that journal had the run's end when the server was about to be restarted; asked when it was not in flight. */
  ended_in_journal: z.boolean().nullable().optional(),
});
export type RecoveryFacts = z.infer<typeof RecoveryFacts>;

const ConfigFact = z.record(Word, z.union([z.string().max(100), z.boolean()]));

/** What the relay's file says, counted. `intact` is about the hash chain and the last line. */
export const AuditFacts = z.strictObject({
  sha256: Sha256,
  count: Count,
  intact: z.boolean(),
  adapter_processes: Count,
  prompts: z.array(ConfigFact).max(64),
  configs_after_prompt: z.array(ConfigFact).max(64),
  identities: z.array(z.strictObject({ name: Word, version: Word })).max(64),
  frame_limit: z.boolean(),
  audit_limit: z.boolean(),
  adapter_exits: Count,
});
export type AuditFacts = z.infer<typeof AuditFacts>;

/** Identity of a file on disk: the same inode with the same change time was not written in between. */
const FileIdentity = z.strictObject({ sha256: Sha256, inode: Word, changed_ns: Word });
export type FileIdentity = z.infer<typeof FileIdentity>;

export const ManagedFacts = z.strictObject({
  baseline: TestResult.nullable(),
  fixed_tests_expected: Count,
  final_state: Word.nullable(),
  task_state: Word.nullable(),
  stop_reason: Word.nullable(),
  error_code: Word.nullable().optional(),
  fixed_before: FileIdentity.nullable(),
  fixed_after: FileIdentity.nullable(),
  additional_tests: z.array(z.string().max(200)).max(200).nullable(),
  suspicious_files: z.array(z.string().max(200)).max(200).nullable(),
  fixed_tests: TestResult.nullable(),
  all_tests: TestResult.nullable(),
  probe: ProbeResult.nullable().optional(),
  hashes_before_tests: z.strictObject({ fixed: Sha256, implementation: Sha256 }).nullable(),
  hashes_after_tests: z.strictObject({ fixed: Sha256, implementation: Sha256 }).nullable(),
  changed_tracked: z.array(z.string().max(400)).max(400).nullable(),
  implementation_name: Word,
  diff_sha256: Sha256.nullable(),
});
export type ManagedFacts = z.infer<typeof ManagedFacts>;

export const ProcessFact = z.strictObject({ pid: Count, start_ticks: Count, name: Word, role: Word });
export type ProcessFact = z.infer<typeof ProcessFact>;

export const Census = z.strictObject({
  scope: z.enum(["whole_tree", "owned_group_only"]),
  before: z.array(ProcessFact).max(1000),
  started: z.array(ProcessFact).max(1000),
  still_visible: z.array(ProcessFact).max(1000),
  listening_ports: z.array(Count).max(100),
  litter: z.array(z.strictObject({ path: Path, removed: z.boolean() })).max(50),
});
export type Census = z.infer<typeof Census>;

/** A credential of the run seen in a channel of a program; the text itself is kept nowhere. */
const PrintedSecret = z.strictObject({ id: Word, channel: Word });
export type PrintedSecret = z.infer<typeof PrintedSecret>;

export const Canaries = z.strictObject({
  planted: z.array(z.strictObject({ id: Word, where: Word })).max(100),
  scanned: z.array(Path).max(2000),
  not_scanned: z.array(Path).max(100),
  found: z.array(z.strictObject({ id: Word, file: Path, form: Word })).max(200),
  wrong_modes: z.array(z.strictObject({ path: Path, mode: Word })).max(200),
  printed: z.array(PrintedSecret).max(200).optional(),
});
export type Canaries = z.infer<typeof Canaries>;

export const ManifestFile = z.strictObject({ path: Path, sha256: Sha256, bytes: Count });
export type ManifestFile = z.infer<typeof ManifestFile>;
export const Manifest = z.strictObject({ files: z.array(ManifestFile).max(5000) });
export type Manifest = z.infer<typeof Manifest>;

export const TimelineEntry = z.strictObject({ at_unix: z.number(), what: z.string().max(200), seat: Word.optional() });
export type TimelineEntry = z.infer<typeof TimelineEntry>;

export const ReportFacts = z.strictObject({
  consumer: ConsumerFacts.nullable(),
  recovery: RecoveryFacts.nullable(),
  managed: ManagedFacts.nullable(),
  audit: AuditFacts.nullable(),
});
export type ReportFacts = z.infer<typeof ReportFacts>;

/** The process that was ended on purpose, and what the table of fault points says to what came of it. */
export const FaultFact = z.strictObject({
  point: z.enum([
    "before_bind",
    "after_bind",
    "after_dispatch",
    "after_prompt_barrier",
    "before_terminal",
    "after_terminal",
  ]),
  signal: z.enum(["SIGINT", "SIGKILL"]),
  target: z.enum(["server", "runner", "adapter", "consumer"]),
  fired: z.boolean(),
  breaches: z.array(Word).max(10),
});
export type FaultFact = z.infer<typeof FaultFact>;

const Section = z.looseObject({ passed: z.boolean(), failure: Word.optional() });

export const Report = z.looseObject({
  format: z.literal(reportFormat),
  state: z.enum(["running", "passed", "failed"]),
  phase: Word,
  started_at_unix: z.number(),
  updated_at_unix: z.number(),
  finished_at_unix: z.number().optional(),
  source_head: Word,
  script_sha256: Word,
  model: Word,
  effort: Word,
  host_job_id: Word.nullable(),
  process_id: Count,
  output_dir: Path,
  failure: Word.optional(),
  consumer: Section,
  managed: Section,
  recovery: Section,
  cleanup: z.looseObject({ process_cleanup_finished: z.boolean(), execution_terminal_observed: z.boolean() }),
  seats: Seats.optional(),
  facts: ReportFacts.optional(),
  verdict: Verdict.optional(),
  fault: FaultFact.optional(),
  census: Census.optional(),
  canaries: Canaries.optional(),
  audit: z.strictObject({ path: Path, sha256: Sha256, count: Count }).optional(),
  manifest: Manifest.optional(),
  timeline: z.array(TimelineEntry).max(500).optional(),
  notes: z.array(z.string().max(300)).max(100).optional(),
});
export type Report = z.infer<typeof Report>;

/**
 * True for a path (relative to the output folder, with `/`) that the manifest has to list: files beside the report,
 * files directly in `private/`, and the project's own files. The report itself and pages made from it are not.
 */
export function manifestCovers(path: string): boolean {
  const parts = path.split("/");
  if (parts.length === 1) return !["report.json", "report.json.tmp", "report.html", "junit.xml"].includes(path);
  if (parts[0] === "private") return parts.length === 2;
  if (parts[0] !== "project") return false;
  return !parts.some((part) => part === ".git" || part === "__pycache__" || part === "node_modules");
}
