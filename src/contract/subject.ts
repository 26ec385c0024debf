// What `calibrate` hands to `accept --subject FILE`: which seat misbehaves how, and limits small enough that
// a hanging subject costs seconds. The command line keeps its own range; this door is for the judge's proof only.
import { z } from "./schema.ts";

const Milliseconds = z.number().int().positive().max(900_000);

export const Subject = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,79}$/),
  /** Name of a misbehaviour (or honest variant) of each stand-in; absent means well-behaved. */
  misbehave: z.strictObject({
    consumer: z.string().max(80).optional(),
    agent: z.string().max(80).optional(),
    server: z.string().max(80).optional(),
    runner: z.string().max(80).optional(),
  }),
  /** Digest of this executable, read once for all subjects of a calibration. */
  executableSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  /** The one stage that can matter for this subject; absent: all of them. A run with a stage left out cannot pass. */
  only: z.enum(["consumer", "managed"]).optional(),
  limits: z.strictObject({
    consumerDeadlineMs: Milliseconds.optional(),
    observationDeadlineMs: Milliseconds.optional(),
    recoveryExtraMs: Milliseconds.optional(),
    httpTimeoutMs: Milliseconds.optional(),
    readinessMs: Milliseconds.optional(),
    testRunMs: Milliseconds.optional(),
    stopTermMs: Milliseconds.optional(),
    stopKillMs: Milliseconds.optional(),
    cancelWaitMs: Milliseconds.optional(),
  }),
});
export type Subject = z.infer<typeof Subject>;
