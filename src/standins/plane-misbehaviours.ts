// How a control plane goes wrong: each name changes exactly one thing on the way between the real embedded server
// and whoever asks it.

/** Every name `standin plane --misbehave` knows, with what it does. */
export const planeMisbehaviours = {
  "loses-history": "says after its restart that events of the run are gone",
  "changes-task-id": "shows the task under another id after its restart",
  "changes-attempt-id": "reconciles with another attempt after its restart",
  "changes-run-id": "reconciles with another run after its restart",
  "changes-run-id-at-the-end": "reconciles with another run once the run has ended",
  "forgets-task-after-restart": "does not know the task after its restart",
  "forgets-binding-after-restart": "does not know the run of the attempt after its restart",
  "empty-store-after-restart": "restarts with an empty store",
  "stays-away-after-restart": "does not start a second time",
  "dies-after-restart": "dies when it is asked about the run after its restart",
  "new-run-on-replay": "answers the repeated start with another run",
  "redispatches-on-replay": "sends the work to the runner a second time when the start is repeated",
  "refuses-the-start": "refuses the start of the run",
  "binds-no-run": "answers the start without naming a run",
  "wrong-run-observed": "answers about another run than the one it was asked about",
  "running-without-execution": "says running for ever, and that no execution has started",
  "unknown-state": "shows a state nobody knows",
  "no-token": "gives no token to continue an observation from",
  "says-completed": "says the run completed while runner and task say otherwise",
  "answers-html": "answers a tool call with a web page",
  "answers-half": "ends an answer in its middle",
  "answers-too-much": "answers with more than 2 MiB",
  "answers-slowly": "leaves a call without an answer for a minute",
  "inventory-without-list": "lists goals without a list",
  "no-receipts": "serves files and keeps no receipts",
  "wrong-receipts": "keeps receipts of other bytes than those it served",
  "serves-other-bytes": "serves other bytes than those on disk, with receipts to match",
  "prints-secret": "prints its own credential into its log and into an answer",
  "honest-slow": "honest: every answer takes 150 ms longer",
  "honest-late": "honest: is ready a second later",
  "honest-odd-answers": "honest: fields and headers nobody asked for",
  "honest-split-chunks": "honest: answers in small pieces",
} as const;
export type PlaneMisbehaviour = keyof typeof planeMisbehaviours;
