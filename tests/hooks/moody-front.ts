// A loopback front for a real server that can be well, down, slow or odd while its address stays the same.

export type Mood = "well" | "down" | "slow" | "html";

/** Ten seconds: longer than any hook waits for one answer. */
const slowMs = 10_000;

export interface MoodyFront extends AsyncDisposable {
  readonly url: string;
  mood: Mood;
  readonly asked: number;
}

export async function moodyFront(target: string): Promise<MoodyFront> {
  let asked = 0;
  const front = { mood: "well" as Mood };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      asked += 1;
      const { pathname } = new URL(request.url);
      const headers = { authorization: request.headers.get("authorization") ?? "", "content-type": "application/json" };
      const body = await request.text();
      if (front.mood === "html") return new Response("<html>Bad gateway</html>", { status: 200 });
      if (front.mood === "slow") {
        await Bun.sleep(slowMs);
        if (request.signal.aborted) return new Response(null, { status: 499 });
      }
      return await fetch(target + pathname, { method: "POST", headers, body });
    },
  });
  // A port that nobody listens on is what "down" means; a second listener cannot share it, so the address is a relay.
  const relay = Bun.listen<{ up: Bun.Socket | null; early: Buffer[] }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        socket.data = { up: null, early: [] };
        if (front.mood === "down") {
          socket.terminate();
          return;
        }
        void Bun.connect({
          hostname: "127.0.0.1",
          port: server.port!,
          socket: {
            open(up) {
              socket.data.up = up;
              for (const part of socket.data.early) up.write(part);
            },
            data(_, part) {
              socket.write(part);
            },
            close() {
              socket.end();
            },
          },
        });
      },
      data(socket, part) {
        if (socket.data.up === null) socket.data.early.push(Buffer.from(part));
        else socket.data.up.write(part);
      },
      close(socket) {
        socket.data.up?.end();
      },
      error() {},
    },
  });
  return {
    url: `http://127.0.0.1:${relay.port}`,
    get mood() {
      return front.mood;
    },
    set mood(mood: Mood) {
      front.mood = mood;
    },
    get asked() {
      return asked;
    },
    async [Symbol.asyncDispose]() {
      relay.stop(true);
      await server.stop(true);
    },
  };
}
