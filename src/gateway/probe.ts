// Attacks a loopback endpoint with the known ways into local agent servers and says which door stood open. It asks for
// upgrades and breaks frames, and delivers no message: read-only on whatever listens there.
import { lstatSync } from "node:fs";
import { dirname } from "node:path";
import { Failure } from "../base/failure.ts";
import { effectiveUserId } from "../base/self.ts";
import type { GatewayCode } from "./codes.ts";
import { gatewayLimits } from "./limits.ts";
import { type FrameAttack, frameAttacks } from "./probe-frames.ts";
import { type HeadAttack, headAttacks } from "./probe-heads.ts";
import { Contact, headFor, type Target, targetOf } from "./probe-wire.ts";

export interface ProbeFinding {
  readonly check: string;
  /** `skipped`: the check needs a credential that was not given. */
  readonly outcome: "refused" | "open" | "no_answer" | "skipped";
}

export interface ProbeOptions {
  /** A valid bearer, for checks that put it into a wrong carrier or need a channel. */
  readonly bearer?: string;
  /** One that was revoked. */
  readonly revoked?: string;
  /** The names of the checks to run; all of them when empty. */
  readonly only?: readonly string[];
  /** How long an endpoint may take to close what it must not keep. */
  readonly waitMs?: number;
}

export interface ProbeResult {
  readonly passed: boolean;
  readonly checks: ProbeFinding[];
}

type Outcome = ProbeFinding["outcome"];
type Check = readonly [check: string, run: () => Promise<Outcome>];

export async function probeEndpoint(address: string, options: ProbeOptions = {}): Promise<ProbeResult> {
  const target = targetOf(address);
  const { only = [] } = options;
  const known = checksOf(target, options);
  const unknown = only.some((name) => !known.some(([check]) => check === name));
  if (unknown) throw new Failure<GatewayCode>("probe_check_unknown");
  const checks: ProbeFinding[] = [];
  for (const [check, run] of known) {
    if (only.length === 0 || only.includes(check)) checks.push({ check, outcome: await run() });
  }
  const answered = checks.filter((one) => one.outcome !== "no_answer" && one.outcome !== "skipped");
  if (!answered.some((one) => one.check !== "socket_path")) throw new Failure<GatewayCode>("gateway_unreachable");
  return { passed: checks.every((one) => one.outcome !== "open"), checks };
}

function checksOf(target: Target, options: ProbeOptions): Check[] {
  const { bearer, revoked, waitMs = gatewayLimits.probeWaitMs } = options;
  const heads = headAttacks(target, bearer).map(
    (attack): Check => [attack.check, () => runHead(target, attack, waitMs)],
  );
  const frames = frameAttacks.map(
    (attack): Check => [
      attack.check,
      async () => (bearer === undefined ? "skipped" : runFrames(target, attack, { bearer, waitMs })),
    ],
  );
  const replayed = { check: "revoked_replay", bytes: headFor(target, { lines: [`Authorization: Bearer ${revoked}`] }) };
  return [
    ...heads,
    ["revoked_replay", async () => (revoked === undefined ? "skipped" : runHead(target, replayed, waitMs))],
    ...frames,
    ["half_open_flood", () => floodHalfOpen(target, waitMs)],
    ...(target.path === undefined ? [] : [["socket_path", async () => judgeSocketPath(target.path!)] as const]),
  ];
}

async function runHead(target: Target, attack: HeadAttack, waitMs: number): Promise<Outcome> {
  using contact = new Contact(target);
  await contact.write(attack.bytes);
  await contact.answered(waitMs);
  if (contact.admitted) return "open";
  if (!contact.connected) return "no_answer";
  if (contact.text === "" && !contact.ended) return attack.mustEnd === true ? "open" : "no_answer";
  return contact.text === "" && attack.mustEnd !== true ? "no_answer" : "refused";
}

async function runFrames(
  target: Target,
  attack: FrameAttack,
  options: { readonly bearer: string; readonly waitMs: number },
): Promise<Outcome> {
  const { bearer, waitMs } = options;
  const end = performance.now() + waitMs;
  while (performance.now() < end) {
    using contact = new Contact(target);
    await contact.write(headFor(target, { lines: [`Authorization: Bearer ${bearer}`] }));
    await contact.answered(waitMs);
    if (contact.text.startsWith("HTTP/1.1 409")) continue; // the channel of the check before is still closing
    if (!contact.admitted) return "no_answer";
    for (const piece of attack.pieces()) if (!(await contact.write(piece))) break;
    return (await contact.closes(waitMs)) ? "refused" : "open";
  }
  return "no_answer";
}

/** Open when heads that never end are kept, so that nobody else gets in. */
async function floodHalfOpen(target: Target, waitMs: number): Promise<Outcome> {
  const flood = Array.from({ length: gatewayLimits.maxConnections + 8 }, () => new Contact(target));
  try {
    await Promise.all(flood.map((one) => one.write(`GET / HTTP/1.1\r\nHost: ${target.host}\r\n`)));
    const closed = await Promise.all(flood.map((one) => one.closes(waitMs)));
    if (!closed.every(Boolean)) return "open";
    using after = new Contact(target);
    await after.write(headFor(target));
    await after.answered(waitMs);
    return after.text === "" ? "no_answer" : "refused";
  } finally {
    for (const one of flood) one[Symbol.dispose]();
  }
}

/** Open when another user could swap or reach the socket: a link, a shared folder, a wide mode. */
function judgeSocketPath(path: string): Outcome {
  try {
    const socket = lstatSync(path);
    const folder = lstatSync(dirname(path));
    const own = socket.uid === effectiveUserId() && folder.uid === effectiveUserId();
    const tight = socket.isSocket() && (socket.mode & 0o077) === 0;
    return own && tight && folder.isDirectory() && (folder.mode & 0o077) === 0 ? "refused" : "open";
  } catch {
    return "no_answer"; // nothing is there
  }
}
