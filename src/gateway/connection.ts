// One accepted socket from its first byte to its end: bounded head within the deadline, one upgrade, then frames.
// Every handler is closed in itself: what goes wrong here ends this socket and nothing else.
import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import type { AuditLog } from "./audit-log.ts";
import type { Coordinator } from "./coordinator.ts";
import type { Grant } from "./credentials.ts";
import { ReadGate, type Turns } from "./fair-reading.ts";
import { closeFrame, frame } from "./frame-writer.ts";
import { FrameReader } from "./frames.ts";
import { parseHead, type RequestHead } from "./head.ts";
import { type ConnectionLimits, gatewayLimits } from "./limits.ts";
import type { Rights } from "./permissions.ts";
import { refusalAnswer, type UpgradeRefusal } from "./refusals.ts";
import { SendQueue } from "./send-queue.ts";
import type { Session } from "./session.ts";
import { type Gatekeeper, type HostRule, judgeUpgrade } from "./upgrade.ts";

const nothing = Buffer.alloc(0);
const acceptSuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

export interface ConnectionContext {
  readonly rule: HostRule;
  readonly keeper: Gatekeeper;
  readonly coordinator: Coordinator;
  readonly limits: ConnectionLimits;
  readonly turns: Turns;
  readonly audit?: AuditLog;
}

/** Serves the socket; the handle lets a stopping gateway close it. */
export function serveConnection(socket: Socket, context: ConnectionContext): { close(code: number): void } {
  const connection = new Connection(socket, context);
  return { close: (code) => connection.close(code) };
}

class Connection {
  readonly #socket: Socket;
  readonly #context: ConnectionContext;
  readonly #deadline: ReturnType<typeof setTimeout>;
  readonly #gate: ReadGate;
  #rest: ReturnType<typeof setTimeout> | null = null;
  #linger: ReturnType<typeof setTimeout> | null = null;
  #head: Buffer = Buffer.alloc(0);
  #phase: "head" | "open" | "closing" = "head";
  #queue: SendQueue | null = null;
  #reader: FrameReader | null = null;
  #session: Session | null = null;
  #grant: Grant | null = null;

  constructor(socket: Socket, context: ConnectionContext) {
    this.#socket = socket;
    this.#context = context;
    this.#gate = new ReadGate(socket);
    this.#deadline = setTimeout(() => socket.destroy(), context.limits.handshakeMs);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#ended());
    socket.on("end", () => socket.destroy());
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** An uncaught throw in a handler would end the whole process; here it ends one socket. */
  #read(chunk: Buffer | null): void {
    try {
      if (this.#reader !== null) this.#turn(this.#reader, chunk);
      else if (chunk !== null) this.#handshake(chunk);
    } catch {
      this.#socket.destroy();
    }
  }

  #handshake(chunk: Buffer): void {
    if (this.#phase === "closing") return;
    const limit = this.#context.limits.maxHandshakeBytes;
    const whole = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
    const head = parseHead(whole);
    const length = head === null || head === "malformed" ? whole.length : head.length;
    if (length > limit) {
      this.#socket.destroy();
      return;
    }
    this.#head = whole;
    if (head === "malformed") this.#refuse("malformed_head");
    else if (head !== null) this.#upgrade(head, whole.subarray(head.length));
  }

  #upgrade(head: RequestHead, rest: Buffer): void {
    const verdict = judgeUpgrade(head, this.#context.rule, this.#context.keeper);
    if (!verdict.admit) {
      this.#refuse(verdict.why);
      return;
    }
    clearTimeout(this.#deadline);
    this.#head = Buffer.alloc(0);
    const accept = createHash("sha1").update(`${verdict.key}${acceptSuffix}`).digest("base64");
    this.#socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    this.#open(verdict.grant, verdict.rights);
    const [session, reader] = [this.#session, this.#reader];
    if (session === null || reader === null || this.#phase !== "open") return; // revoked meanwhile
    const restMs = session.account.allowance.restLeftMs();
    if (restMs > 0) this.#letRest(session, reader, restMs);
    if (rest.length > 0) this.#turn(reader, rest);
  }

  /**
   * One turn of work for this client, with a new chunk or with what lies ready; all that it is answered meanwhile leaves
   * in one write. Who has sent too much for a turn is not read for a while.
   */
  #turn(reader: FrameReader, chunk: Buffer | null): void {
    if (this.#phase !== "open") return;
    this.#queue?.cork();
    if (chunk === null) reader.goOn();
    else reader.push(chunk);
    this.#queue?.uncork();
    const session = this.#session;
    if (session === null || this.#phase !== "open") return;
    this.#context.turns.worked(session.account, performance.now());
    const restMs = session.account.allowance.restMs();
    if (restMs > 0) this.#letRest(session, reader, restMs);
  }

  /** Reads nothing for so long. Meanwhile a ping tells whether the peer is there: the system says when it has gone. */
  #letRest(session: Session, reader: FrameReader, restMs: number): void {
    reader.stop();
    this.#gate.hold(reader);
    if (this.#rest !== null) clearTimeout(this.#rest);
    const stepMs = Math.min(restMs, gatewayLimits.restLookMs);
    this.#rest = setTimeout(() => {
      if (restMs > stepMs) {
        this.#queue?.send(frame(9, nothing));
        this.#letRest(session, reader, restMs - stepMs);
        return;
      }
      this.#gate.free(reader);
      session.account.allowance.comeBack();
      this.#read(null);
    }, stepMs);
  }

  /** Takes a frame off the allowance; with nobody else to serve there is no end of it. */
  #spend({ account }: Session, frameBytes: number): boolean {
    if (account.allowance.spend(frameBytes)) return true;
    if (this.#context.turns.othersThan(account, performance.now())) return false;
    account.allowance.forgive();
    return true;
  }

  #open(grant: Grant, rights: Rights): void {
    const { limits, coordinator, audit } = this.#context;
    this.#phase = "open";
    this.#grant = grant;
    const queue = new SendQueue(this.#socket, {
      maxQueueBytes: limits.maxQueueBytes,
      gate: this.#gate,
      onOverflow: () => this.#socket.destroy(),
    });
    this.#queue = queue;
    const send = (bytes: Buffer) => void queue.send(bytes);
    const session = coordinator.attach({ clientId: grant.clientId, rights, send, close: (code) => this.close(code) });
    this.#session = session;
    this.#reader = new FrameReader(
      {
        text: (message) => {
          // What follows in the same chunk after a close is nobody's.
          if (this.#phase === "open") coordinator.receive(session, message);
        },
        ping: (payload) => void queue.send(frame(10, payload)),
        pong: () => {},
        close: (code) => this.close(code),
        fail: (code) => this.close(code),
      },
      limits,
      (frameBytes) => this.#spend(session, frameBytes),
    );
    audit?.note({ event: "connected", client: grant.clientId });
    grant.onRevoked = () => this.close(1008);
  }

  /** Says the code, frees the client's place at once, and leaves no half-open peer behind. */
  close(code: number): void {
    if (this.#phase === "closing") return;
    const opened = this.#phase === "open";
    this.#phase = "closing";
    if (!opened) {
      this.#socket.destroy();
      return;
    }
    this.#queue?.send(closeFrame(code));
    this.#queue?.flush();
    this.#free();
    this.#finish();
  }

  #refuse(why: UpgradeRefusal): void {
    this.#phase = "closing";
    this.#context.audit?.note({ event: "upgrade_refused", reason: why });
    this.#socket.write(refusalAnswer(why));
    this.#finish();
  }

  #finish(): void {
    if (this.#rest !== null) clearTimeout(this.#rest);
    this.#gate.open();
    this.#socket.end();
    this.#linger = setTimeout(() => this.#socket.destroy(), gatewayLimits.lingerMs);
    this.#linger.unref();
  }

  #ended(): void {
    this.#phase = "closing";
    clearTimeout(this.#deadline);
    // A timer that is left would keep what is gone in memory, for as long as peers come and go.
    for (const timer of [this.#rest, this.#linger]) if (timer !== null) clearTimeout(timer);
    this.#free();
  }

  /** Detached first, then the channel is free. */
  #free(): void {
    const grant = this.#grant;
    if (grant === null) return;
    this.#grant = null;
    if (this.#session !== null) this.#context.coordinator.detach(this.#session);
    grant.release();
    this.#context.audit?.note({ event: "closed", client: grant.clientId });
  }
}
