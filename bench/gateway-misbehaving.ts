// The two who misbehave beside the measured clients: one asks for much and reads nothing, one sends all it can. Run as
// `bun bench/gateway-misbehaving.ts PORT BEARER BEARER` they are a process of their own, as such clients are, so that their
// work is not taken for the gateway's: each byte on stdin begins their turn or ends it, and is answered by one.
import { connect, type Socket } from "node:net";
import { frame } from "../src/gateway/frame-writer.ts";

interface Place {
  readonly port: number;
  readonly bearer: string;
}

function masked(payload: Uint8Array, first = 0x81): Buffer {
  const plain = frame(first & 15, payload);
  const head = plain.length - payload.length;
  plain[0] = first;
  plain[1]! |= 0x80;
  return Buffer.concat([plain.subarray(0, head), Buffer.alloc(4), payload]); // a key of zeros leaves the payload as it is
}

function raw({ port, bearer }: Place): Socket {
  const socket = connect(port, "127.0.0.1");
  const lines = [`Host: 127.0.0.1:${port}`, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"];
  lines.push("Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", `Authorization: Bearer ${bearer}`);
  socket.on("error", () => {});
  socket.write(`GET / HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  socket.write(masked(Buffer.from('{"id":0,"method":"initialize","params":{}}')));
  return socket;
}

/** Asks for a great deal and reads nothing of it. */
export function openStalled(place: Place): () => void {
  const socket = raw(place);
  socket.pause();
  const text = JSON.stringify({ id: 1, method: "model/list", params: { text: "y".repeat(64 * 1024) } });
  const many = Buffer.concat(Array.from({ length: 64 }, () => masked(Buffer.from(text))));
  socket.write(many);
  return () => socket.destroy();
}

/** Sends all it can, reads all it gets, and comes back whenever it is thrown out. */
export function openHostile(place: Place): () => void {
  const call = (params: unknown) => masked(Buffer.from(JSON.stringify({ id: "h", method: "model/list", params })));
  const volleys = [
    Buffer.concat(Array.from({ length: 400 }, () => masked(Buffer.alloc(125, 112), 0x89))),
    Buffer.concat(Array.from({ length: 200 }, () => masked(Buffer.from("not json at all")))),
    call({ text: "z".repeat(512 * 1024) }),
    call({ list: Array.from({ length: 20_000 }, (_, at) => ({ at })) }),
    call({ deep: [{ token: "x" }] }),
    masked(Buffer.from('{"id":0,"method":"no/such","params":{}}')),
  ];
  let over = false;
  let socket: Socket;
  const attack = () => {
    socket = raw(place);
    let at = 0;
    const fire = () => {
      while (!over && !socket.destroyed && socket.write(volleys[at++ % volleys.length]!)) if (at > 1e6) return;
    };
    socket.on("data", () => {});
    socket.on("drain", fire);
    socket.on("close", () => !over && setTimeout(attack, 5));
    fire();
  };
  attack();
  return () => {
    over = true;
    socket.destroy();
  };
}

if (import.meta.main) {
  const [port, stalled, hostile] = process.argv.slice(2);
  let stop: (() => void)[] = [];
  for await (const bytes of Bun.stdin.stream()) {
    for (const _ of bytes) {
      for (const one of stop) one();
      stop =
        stop.length > 0
          ? []
          : [
              openStalled({ port: Number(port), bearer: stalled! }),
              openHostile({ port: Number(port), bearer: hostile! }),
            ];
      process.stdout.write(".");
    }
  }
  process.exit(0);
}
