// A load generator that costs little beside the server it loads: raw keep-alive sockets, requests built beforehand, an
// answer framed by its content-length and looked at only for its status and one marker. Anything else ends the bench.

/** One caller's connection: one request at a time. */
export interface RawCaller {
  /** Sends the request bytes; resolves to the whole answer (head and body) as latin1 text. */
  readonly ask: (request: Uint8Array) => Promise<string>;
  readonly close: () => void;
}

interface Wait {
  readonly resolve: (answer: string) => void;
  readonly reject: (reason: Error) => void;
}

/** Opens one connection to a loopback server. */
export async function rawCaller(port: number): Promise<RawCaller> {
  let wait: Wait | undefined;
  let held = "";
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      binaryType: "buffer",
      data(_socket, bytes) {
        held += bytes.toString("latin1");
        const end = endOfAnswer(held);
        if (end === -1 || held.length < end) return;
        const answer = held.slice(0, end);
        held = held.slice(end);
        const settled = wait;
        wait = undefined;
        settled?.resolve(answer);
      },
      close() {
        wait?.reject(new Error("the server closed a connection"));
      },
      error(_socket, error) {
        wait?.reject(error);
      },
    },
  });
  return {
    ask(request) {
      return new Promise((resolve, reject) => {
        wait = { resolve, reject };
        if (socket.write(request) !== request.length) reject(new Error("a request did not fit into the socket"));
      });
    },
    close: () => socket.end(),
  };
}

/** Where the answer at the start of `text` ends, or -1 while its head is not whole. */
function endOfAnswer(text: string): number {
  const head = text.indexOf("\r\n\r\n");
  if (head === -1) return -1;
  const at = text.search(/content-length: /i);
  if (at === -1 || at > head) throw new Error(`an answer without a length: ${text.slice(0, head)}`);
  return head + 4 + Number.parseInt(text.slice(at + 16, at + 28), 10);
}

/** A whole POST of JSON as bytes. */
export function rawPost(options: {
  readonly port: number;
  readonly path: string;
  readonly token: string;
  readonly body: unknown;
}): Uint8Array {
  const body = JSON.stringify(options.body);
  const head = [
    `POST ${options.path} HTTP/1.1`,
    `Host: 127.0.0.1:${options.port}`,
    `Authorization: Bearer ${options.token}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}
