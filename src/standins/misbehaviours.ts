// Every way a stand-in can go wrong, as data: seat, name, what it does. Names that begin with `honest` pass.
import { agentMisbehaviours } from "./agent-misbehaviours.ts";
import { execMisbehaviours } from "./exec-misbehaviours.ts";
import { planeMisbehaviours } from "./plane-misbehaviours.ts";
import { runnerMisbehaviours } from "./runner-misbehaviours.ts";

export interface Misbehaviour {
  readonly seat: "consumer" | "agent" | "server" | "runner";
  readonly id: string;
  readonly does: string;
}

export const misbehaviours: readonly Misbehaviour[] = [
  ...Object.entries(execMisbehaviours).map(([id, does]) => ({ seat: "consumer" as const, id, does })),
  ...Object.entries(agentMisbehaviours).map(([id, does]) => ({ seat: "agent" as const, id, does })),
  ...Object.entries(planeMisbehaviours).map(([id, does]) => ({ seat: "server" as const, id, does })),
  ...Object.entries(runnerMisbehaviours).map(([id, does]) => ({ seat: "runner" as const, id, does })),
];
