// The output items of the Responses endpoint that Codex asks, and the scenario file that the model stand-in plays.
// A scenario is data: turns are taken in order, each at most once unless it repeats, filtered by a text it must find.
import { z } from "./schema.ts";

const Text = z.string().max(65_536);
const Item = z.union([
  z.strictObject({ say: Text, phase: z.enum(["commentary", "final_answer"]).optional() }),
  /** Answers with every KEY=VALUE line found in the tool outputs of the request. */
  z.strictObject({ say_key_values: z.literal(true) }),
  z.strictObject({ call: z.string().max(200), namespace: z.string().max(200).optional(), args: z.unknown() }),
  z.strictObject({ custom: z.string().max(200), input: Text }),
  z.strictObject({ think: Text }),
]);

const Turn = z.strictObject({
  /** A piece of text that the request must contain. */
  when: z.string().max(1_000).optional(),
  items: z.array(Item).max(64),
  repeat: z.boolean().optional(),
  /** Wait for the gate file before answering. */
  gate: z.boolean().optional(),
  fail: z.strictObject({ status: z.number().int().min(400).max(599), message: z.string().max(1_000) }).optional(),
});

export const Scenario = z.strictObject({
  turns: z.array(Turn).min(1).max(256),
  fallback: Text.optional(),
  review: z.enum(["allow", "deny"]).optional(),
  title: z.string().max(200).optional(),
});
export type Scenario = z.infer<typeof Scenario>;
export type ScenarioTurn = Scenario["turns"][number];
export type ScenarioItem = ScenarioTurn["items"][number];

/** One output item as the wire carries it. */
export type OutputItem = Readonly<Record<string, unknown>> & { readonly type: string; readonly id: string };
