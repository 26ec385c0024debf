// A server that judges as strictly as ours but for one hole, planted by name; for the probe to find.
import { createHash } from "node:crypto";
import { createServer, type Socket } from "node:net";
import type { Grant } from "../../src/gateway/credentials.ts";
import { FrameReader } from "../../src/gateway/frames.ts";
import { parseHead, type RequestHead } from "../../src/gateway/head.ts";
import { gatewayLimits } from "../../src/gateway/limits.ts";
import { ownerRights } from "../../src/gateway/permissions.ts";
import { judgeUpgrade } from "../../src/gateway/upgrade.ts";

export const goodBearer = `good.${"1".repeat(64)}`;
export const revokedBearer = `good.${"2".repeat(64)}`;

interface HeadFacts {
  readonly port: number;
  /** The head as it came, for holes that lie in its spelling. */
  readonly raw: string;
}

type Rewrite = (head: RequestHead, facts: HeadFacts) => RequestHead;

/** Makes the head one that is admitted, as a server does that trusts what it sees. */
const trusting = (head: RequestHead, facts: HeadFacts): RequestHead => ({
  ...head,
  target: "/",
  headers: [
    ["host", `127.0.0.1:${facts.port}`],
    ["upgrade", "websocket"],
    ["connection", "upgrade"],
    ["sec-websocket-version", "13"],
    ["sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA=="],
    ["authorization", `Bearer ${goodBearer}`],
  ],
});
const has = (head: RequestHead, name: string, value?: string) =>
  head.headers.some(([key, held]) => key === name && (value === undefined || held === value));
const count = (head: RequestHead, name: string) => head.headers.filter(([key]) => key === name).length;
const when =
  (test: (head: RequestHead, raw: string) => boolean): Rewrite =>
  (head, facts) =>
    test(head, facts.raw) ? trusting(head, facts) : head;
const originOf = (value: RegExp) =>
  when(
    (head) => count(head, "origin") === 1 && head.headers.some(([key, held]) => key === "origin" && value.test(held)),
  );
const hostOf = (value: RegExp) =>
  when((head) => count(head, "host") === 1 && head.headers.some(([key, held]) => key === "host" && value.test(held)));
const bare = (head: RequestHead) => head.headers.length === 5 && count(head, "host") === 1 && head.target === "/";
const authorized = (head: RequestHead, value: RegExp) =>
  count(head, "authorization") === 1 && head.headers.some(([key, held]) => key === "authorization" && value.test(held));

/** A hole in the reading of heads: what is done to a head before it is judged. */
export const headHoles: Readonly<Record<string, Rewrite>> = {
  no_credential: when((head) => bare(head)),
  unknown_credential: when((head) => authorized(head, /^Bearer probe\.0{64}$/)),
  other_scheme: when((head) => authorized(head, /^Basic /)),
  self_declared_rights: when((head) => has(head, "x-supercode-permissions", "observe,terminate")),
  limiter_bypass: when((head) => has(head, "x-real-ip")),
  browser_origin: when((head, raw) => count(head, "origin") === 1 && raw.includes("\r\nOrigin: https:")),
  browser_origin_null: originOf(/^null$/),
  browser_origin_empty: originOf(/^$/),
  browser_origin_same: originOf(/^http:/),
  browser_origin_lower_case: when((head, raw) => count(head, "origin") === 1 && raw.includes("\r\norigin:")),
  browser_origin_extension: originOf(/^chrome/),
  dns_rebinding: hostOf(/^evil\.example:/),
  dns_rebinding_no_port: hostOf(/^evil\.example$/),
  dns_rebinding_nip: hostOf(/nip\.io/),
  dns_rebinding_zero: hostOf(/^0\.0\.0\.0/),
  dns_rebinding_dot: hostOf(/^127.*\.$/),
  missing_host: when((head) => count(head, "host") === 0),
  query_token: when((head) => head.target.startsWith("/?token=")),
  query_access_token: when((head) => head.target.startsWith("/?access_token=")),
  path_token: when((head) => /^\/[a-z]+\./.test(head.target)),
  subprotocol_token: when((head) => has(head, "sec-websocket-protocol")),
  cookie_token: when((head) => has(head, "cookie")),
  duplicate_authorization: when((head) => count(head, "authorization") === 2 && has(head, "authorization", "Bearer x")),
  duplicate_authorization_equal: when(
    (head) => count(head, "authorization") === 2 && !has(head, "authorization", "Bearer x"),
  ),
  duplicate_host: when((head) => count(head, "host") === 2),
  duplicate_origin: when((head) => count(head, "origin") === 2),
  duplicate_narrowing: when((head) => count(head, "x-supercode-permissions") === 2),
  duplicate_narrowing_mixed: when((head) => has(head, "x-supercode-permissions") && has(head, "x-proctor-permissions")),
  smuggling_content_length: when((head) => has(head, "content-length")),
  smuggling_transfer_encoding: when((head) => has(head, "transfer-encoding")),
  smuggling_folded_header: (head) => head,
  old_protocol: (head) => head,
  oversized_head: (head) => ({ ...head, length: Math.min(head.length, gatewayLimits.maxHandshakeBytes) }),
  absolute_target: when((head) => head.target.startsWith("http:")),
  revoked_replay: when((head) => has(head, "authorization", `Bearer ${revokedBearer}`)),
};

/** What a lenient reader makes of a head that ours does not take: the two holes above that lie in its parser. */
const lenient: Readonly<Record<string, (raw: string) => string>> = {
  smuggling_folded_header: (raw) => raw.replace(/\r\n[ \t]+/g, " "),
  old_protocol: (raw) => raw.replace(" HTTP/1.0\r\n", " HTTP/1.1\r\n"),
};

/** Holes in what comes before a head ends, and in the frames: their checks find a connection that stays. */
export const stayingHoles = [
  "endless_head",
  "half_open_flood",
  "frame_unmasked",
  "frame_huge_length",
  "frame_compressed",
  "frame_reserved_opcode",
  "frame_long_control",
  "frame_broken_text",
  "fragment_flood",
  "message_bomb",
] as const;

export interface WeakServer extends AsyncDisposable {
  readonly address: string;
}

export async function openWeakServer(hole: string): Promise<WeakServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    let head = Buffer.alloc(0);
    let reader: FrameReader | null = null;
    const keeps = hole === "endless_head";
    const unbounded = keeps || hole === "oversized_head";
    if (!keeps && hole !== "half_open_flood") setTimeout(() => reader === null && socket.destroy(), 2000).unref();
    socket.on("data", (chunk: Buffer) => {
      if (reader !== null) return reader.push(chunk);
      head = Buffer.concat([head, chunk]);
      const raw = (lenient[hole] ?? String)(head.toString("latin1"));
      const parsed = parseHead(Buffer.from(raw, "latin1"));
      if (parsed === null)
        return void (!unbounded && head.length > gatewayLimits.maxHandshakeBytes && socket.destroy());
      reader = admit(parsed, { socket, raw });
    });
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  const { port } = server.address() as { port: number };

  function admit(parsed: RequestHead | "malformed", from: { socket: Socket; raw: string }): FrameReader | null {
    const { socket, raw } = from;
    const rewrite = headHoles[hole];
    const judged = parsed === "malformed" || rewrite === undefined ? parsed : rewrite(parsed, { port, raw });
    const tooLong = judged !== "malformed" && judged.length > gatewayLimits.maxHandshakeBytes;
    const rule = { kind: "tcp", address: `127.0.0.1:${port}`, forwardedPorts: new Set<number>() } as const;
    const grant = { generation: "g", rights: ownerRights, release() {} } as unknown as Grant;
    const authenticate = (bearer: string | null) => (bearer === goodBearer ? grant : "unauthenticated");
    const verdict =
      judged === "malformed" || tooLong ? null : judgeUpgrade(judged, rule, { generation: "g", authenticate });
    if (verdict === null || !verdict.admit) {
      socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
      return null;
    }
    const accept = createHash("sha1").update(`${verdict.key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
    return readerFor(hole, socket);
  }
  return {
    address: `ws://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Ends the socket at a broken rule, but for the rule whose breaking is the hole: that one it does not notice. */
function readerFor(hole: string, socket: Socket): FrameReader {
  let first = true;
  const ignore = () => {};
  const fail = () => socket.destroy();
  const strict = new FrameReader({ text: ignore, ping: ignore, pong: ignore, close: fail, fail });
  const blind =
    (stayingHoles as readonly string[]).includes(hole) && hole !== "endless_head" && hole !== "half_open_flood";
  if (!blind) return strict;
  const isHole = holeInFrames[hole]!;
  let skipping = false;
  return {
    push(chunk: Buffer) {
      if (first) skipping = isHole(chunk);
      first = false;
      if (!skipping) strict.push(chunk);
    },
  } as unknown as FrameReader;
}

const holeInFrames: Readonly<Record<string, (first: Buffer) => boolean>> = {
  frame_unmasked: (bytes) => (bytes[1]! & 0x80) === 0,
  frame_huge_length: (bytes) => bytes[1] === 0xff && bytes[2] === 0x7f,
  frame_compressed: (bytes) => (bytes[0]! & 0x40) !== 0,
  frame_reserved_opcode: (bytes) => (bytes[0]! & 15) === 11,
  frame_long_control: (bytes) => bytes[0] === 0x89 && bytes[1] === 0xfe,
  frame_broken_text: (bytes) => bytes.includes(0xff, 2),
  fragment_flood: (bytes) => bytes[0] === 0x01 && bytes[6] === 0x20,
  message_bomb: (bytes) => bytes[0] === 0x01 && bytes[6] === 0x20,
};
