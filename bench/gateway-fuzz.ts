// `bun bench/gateway-fuzz.ts [BYTES [SEED]]`: mutated heads, frames and messages against a gateway in a process of its
// own, ten million bytes unless told. It must live on, serve a good client all along and give its memory back.
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { frame } from "../src/gateway/frame-writer.ts";

const lanes = 16;
const healthEvery = 500;
/** What a process may grow by between the end of the warm-up and the end, besides a quarter of what it had. */
const allowedGrowthKb = 24 * 1024;

export interface FuzzResult {
  readonly bytes: number;
  readonly samples: number;
  readonly healthChecks: number;
  readonly rssBeforeKb: number;
  readonly rssAfterKb: number;
  readonly passed: boolean;
}

type Dice = (below: number) => number;

function dice(seed: number): Dice {
  let state = seed >>> 0;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

function masked(first: number, payload: Uint8Array): Buffer {
  const plain = frame(first & 15, payload);
  const head = plain.length - payload.length;
  const mask = [7, 77, 177, 27];
  plain[0] = first;
  plain[1]! |= 0x80;
  return Buffer.concat([plain.subarray(0, head), Buffer.from(mask), payload.map((byte, i) => byte ^ mask[i & 3]!)]);
}

const messages = [
  '{"id":0,"method":"initialize","params":{"clientInfo":{"name":"f","version":"1"}}}',
  '{"method":"initialized"}',
  '{"id":"a","method":"model/list","params":{"text":"ñ€🎉","deep":[[[{"a":[1,2,{"b":null}]}]]]}}',
  '{"id":7,"method":"thread/resume","params":{"threadId":"t","model":"other"}}',
  '{"id":8,"method":"turn/start","params":{"threadId":"t","input":[{"type":"text","text":"x"}]}}',
  '{"id":3,"result":{"decision":"accept"}}',
  '{"id":9,"method":"config/read","params":{"\\u0074oken":1}}',
  "[]",
].map((text) => Buffer.from(text));

/** A stream of sound frames; some of its messages are hurt before they are masked, so that they arrive as text. */
function stream(roll: Dice): Buffer {
  const parts: Buffer[] = [masked(0x81, messages[0]!)];
  for (let left = roll(8); left >= 0; left--) {
    const message = messages[roll(messages.length)]!;
    const text = roll(3) === 0 ? hurt(message, roll) : message;
    const kind = roll(6);
    if (kind === 0) parts.push(masked(0x89, text.subarray(0, roll(126))));
    else if (kind === 1) parts.push(masked(0x01, text.subarray(0, 5)), masked(0x80, text.subarray(5)));
    else if (kind === 2 && left === 0) parts.push(masked(0x88, Buffer.from([3, 232])));
    else parts.push(masked(0x81, text));
  }
  return Buffer.concat(parts);
}

/** One to four wounds: a bit, a byte, a hole, a graft, a repeat or a cut. */
function hurt(bytes: Buffer, roll: Dice): Buffer {
  let now = Buffer.from(bytes);
  for (let left = roll(4); left >= 0; left--) {
    const at = roll(now.length + 1);
    const length = roll(12);
    const kind = roll(6);
    if (kind === 0 && at < now.length) now[at]! ^= 1 << roll(8);
    else if (kind === 1 && at < now.length) now[at] = [0, 0x7f, 0x80, 0xff, roll(256)][roll(5)]!;
    else if (kind === 2) now = Buffer.concat([now.subarray(0, at), now.subarray(at + length)]);
    else if (kind === 3)
      now = Buffer.concat([
        now.subarray(0, at),
        Buffer.from(Array.from({ length }, () => roll(256))),
        now.subarray(at),
      ]);
    else if (kind === 4) now = Buffer.concat([now.subarray(0, at), now.subarray(Math.max(0, at - length))]);
    else if (roll(4) === 0) now = now.subarray(0, at);
  }
  return now;
}

function headOf(port: number, bearer: string): Buffer {
  const lines = [`Host: 127.0.0.1:${port}`, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"];
  lines.push("Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", `Authorization: Bearer ${bearer}`);
  return Buffer.from(`GET / HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
}

/** Sends the bytes in two writes, ends, and waits for the other side's end. */
async function send(port: number, bytes: Buffer, cut: number): Promise<void> {
  const done = Promise.withResolvers<void>();
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => done.resolve());
  socket.on("close", () => done.resolve());
  socket.on("data", () => {});
  socket.write(bytes.subarray(0, cut));
  socket.write(bytes.subarray(cut));
  socket.end();
  await done.promise;
}

/** A whole call of a client that does everything right; throws when the gateway does not serve it. */
async function healthy(port: number, bearer: string): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { Authorization: `Bearer ${bearer}` } } as never);
  const answered = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  socket.onopen = () => {
    socket.send(messages[0]!.toString());
    socket.send('{"id":"good","method":"model/list","params":{}}');
  };
  socket.onmessage = (event) => String(event.data).startsWith('{"id":"good"') && answered.resolve();
  socket.onclose = () => {
    answered.reject(new Error("a good client was not served"));
    closed.resolve();
  };
  await answered.promise;
  socket.close();
  await closed.promise;
}

function rssKb(pid: number): number {
  return Number(/VmRSS:\s+([0-9]+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
}

/** Sends at least `bytes` mutated bytes; the first tenth warms up and is not held against the memory. */
export async function fuzz(options: { readonly bytes: number; readonly seed?: number }): Promise<FuzzResult> {
  const server = Bun.spawn([process.execPath, `${import.meta.dir}/gateway-server.ts`, "gateway"], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  try {
    const told = await server.stdout.getReader().read();
    const { port, bearers } = JSON.parse(new TextDecoder().decode(told.value)) as { port: number; bearers: string[] };
    const roll = dice(options.seed ?? 20_261_130);
    let [sent, samples, healthChecks, rssBeforeKb] = [0, 0, 0, 0];
    const lane = async (own: string) => {
      while (sent < options.bytes) {
        const head = headOf(port, own);
        const bytes = roll(10) === 0 ? hurt(head, roll) : Buffer.concat([head, hurt(stream(roll), roll)]);
        sent += bytes.length;
        samples++;
        const check = samples % healthEvery === 0;
        await send(port, bytes, roll(bytes.length + 1));
        if (rssBeforeKb === 0 && sent >= options.bytes / 10) rssBeforeKb = rssKb(server.pid);
        if (!check) continue;
        await healthy(port, bearers[lanes]!);
        healthChecks++;
      }
    };
    await Promise.all(bearers.slice(0, lanes).map(lane));
    await healthy(port, bearers[lanes]!);
    const rssAfterKb = rssKb(server.pid);
    const passed = server.exitCode === null && rssAfterKb <= rssBeforeKb * 1.25 + allowedGrowthKb;
    return { bytes: sent, samples, healthChecks: healthChecks + 1, rssBeforeKb, rssAfterKb, passed };
  } finally {
    server.kill();
    await server.exited;
  }
}

if (import.meta.main) {
  const [bytes, seed] = process.argv.slice(2).map(Number);
  const started = performance.now();
  const result = await fuzz({ bytes: bytes ?? 10_000_000, ...(seed === undefined ? {} : { seed }) });
  process.stdout.write(`${JSON.stringify({ ...result, seconds: Math.round((performance.now() - started) / 1000) })}\n`);
  process.exitCode = result.passed ? 0 : 1;
}
