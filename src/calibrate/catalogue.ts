// Every subject the judge is proven with: bad in exactly one way and refused with one code, or honest and passed.
// A subject is data: the seat, the stand-in's misbehaviour by name, and whose doing it has to be called.
import type { Subject } from "../contract/subject.ts";
import type { JudgeCode, Party } from "../judge/codes.ts";
import { consumerSubjects } from "./consumer-subjects.ts";
import { managedSubjects } from "./managed-subjects.ts";

export type SeatName = keyof Subject["misbehave"];

export interface BadSubject {
  readonly kind: "bad";
  readonly id: string;
  readonly seat: SeatName;
  readonly misbehaviour: string;
  readonly code: JudgeCode | (string & {});
  readonly party: Party;
  /** The one stage that can matter; a run without the other can be refused, but never pass. */
  readonly only: NonNullable<Subject["only"]>;
  readonly limits: Subject["limits"];
}
export interface HonestSubject {
  readonly kind: "honest";
  readonly id: string;
  readonly seat: SeatName;
  readonly misbehaviour: string;
}
export type CatalogueSubject = BadSubject | HonestSubject;

/** [misbehaviour, code] of a seat, and where it differs from the others of its seat. */
export type BadRow = readonly [
  misbehaviour: string,
  code: BadSubject["code"],
  more?: { readonly only?: BadSubject["only"]; readonly limits?: Subject["limits"] },
];

const seatParty: Readonly<Record<SeatName, Party>> = {
  consumer: "consumer",
  agent: "adapter",
  server: "server",
  runner: "runner",
};

/** The variants that are odd but right, by seat. */
const honestRows: Readonly<Record<SeatName, readonly string[]>> = {
  consumer: [
    "honest",
    "honest-slow",
    "honest-chatty",
    "honest-odd-frames",
    "honest-line-separators",
    "honest-split-chunks",
    "honest-recovered-retries",
    "honest-huge-output",
    "honest-fenced",
    "honest-two-calls",
  ],
  agent: [
    "honest-slow",
    "honest-chatty",
    "honest-odd-frames",
    "honest-line-separators",
    "honest-split-chunks",
    "honest-recovered-retries",
    "honest-huge-output",
  ],
  server: ["honest-slow", "honest-late", "honest-odd-answers", "honest-split-chunks"],
  runner: ["honest-slow", "honest-odd-frames"],
};

/** The whole catalogue; ids are `<seat>-<misbehaviour>`. */
export const catalogue: readonly CatalogueSubject[] = [
  ...badOf("consumer", consumerSubjects),
  ...badOf("agent", managedSubjects.agent),
  ...badOf("server", managedSubjects.server),
  ...badOf("runner", managedSubjects.runner),
  ...(Object.keys(honestRows) as SeatName[]).flatMap((seat) => honestRows[seat].map((name) => honest(seat, name))),
];

/** What the subject's own process is told: the one misbehaviour, and limits small enough for a hanging subject. */
export function subjectFile(subject: CatalogueSubject, executableSha256?: string): Subject {
  return {
    id: subject.id,
    misbehave: { [subject.seat]: subject.misbehaviour },
    ...(executableSha256 === undefined ? {} : { executableSha256 }),
    ...(subject.kind === "bad" ? { only: subject.only } : {}),
    limits: {
      // Wide enough for a loaded machine; what hangs on purpose has shorter ones of its own.
      consumerDeadlineMs: 60_000,
      observationDeadlineMs: 60_000,
      recoveryExtraMs: 5_000,
      httpTimeoutMs: 40_000,
      readinessMs: 40_000,
      testRunMs: 30_000,
      stopTermMs: 5_000,
      stopKillMs: 2_000,
      cancelWaitMs: 3_000,
      ...(subject.kind === "bad" ? subject.limits : {}),
    },
  };
}

function badOf(seat: SeatName, rows: readonly BadRow[]): BadSubject[] {
  return rows.map(([misbehaviour, code, { only, limits = {} } = {}]) => ({
    kind: "bad",
    id: `${seat}-${misbehaviour}`,
    seat,
    misbehaviour,
    code,
    party: seatParty[seat],
    only: only ?? (seat === "consumer" ? "consumer" : "managed"),
    limits,
  }));
}

function honest(seat: SeatName, misbehaviour: string): HonestSubject {
  return { kind: "honest", id: `${seat}-${misbehaviour}`, seat, misbehaviour };
}
