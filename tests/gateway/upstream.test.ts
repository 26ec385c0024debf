// The app-server behind a WebSocket: over a Unix socket and over loopback TCP, through the whole gateway.
import { expect, test } from "bun:test";
import { openGateway } from "../../src/gateway/gateway.ts";
import { upstreamUrl, webSocketUpstream } from "../../src/gateway/upstream.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { client, readyClient } from "./gateway-fixture.ts";

/** An app-server that answers every call with its method and shuts a socket on demand. */
function webSocketServer(place: { unix: string } | { hostname: string; port: number }) {
  let open = 0;
  const server = Bun.serve({
    ...place,
    fetch: (request: Request, self: Bun.Server<undefined>) =>
      self.upgrade(request) ? undefined : new Response("no", { status: 400 }),
    websocket: {
      open: () => void open++,
      close: () => void open--,
      message(socket: Bun.ServerWebSocket, text: string | Buffer) {
        const { id, method } = JSON.parse(String(text));
        if (method === "thread/delete") socket.close();
        else if (id !== undefined) socket.send(JSON.stringify({ id, result: { method } }));
      },
    },
  } as never);
  return { server, open: () => open };
}

for (const kind of ["unix", "ws"] as const)
  test(`a ${kind}: upstream serves clients, its end is told with 1013, and it is opened anew`, async () => {
    await using dir = await tempFolder();
    const path = `${dir.path}/up.sock`;
    const { server } = webSocketServer(kind === "unix" ? { unix: path } : { hostname: "127.0.0.1", port: 0 });
    const address = kind === "unix" ? `unix:${path}` : `ws://127.0.0.1:${server.port}`;
    const { gateway, bootstrap } = openGateway({ folder: dir.path, upstream: webSocketUpstream(address) });
    const url = `ws://${(await gateway.listenTcp(0)).address}/`;

    const one = await readyClient(url, gateway.issue(bootstrap, "one", "interactive"));
    expect((await one.call("model/list")).result).toEqual({ method: "model/list" });
    expect((await one.call("thread/delete", { threadId: "t" })).error.code).toBe(-32000);
    expect(await one.closed).toBe(1013);
    const two = await readyClient(url, gateway.issue(bootstrap, "two", "interactive"));
    expect((await two.call("model/list")).result).toEqual({ method: "model/list" });

    await gateway.terminate(bootstrap);
    expect(await two.closed).toBe(1008);
    await gateway.stop();
    await server.stop(true);
  });

test("an upstream that is not there is a busy answer to initialize, and the client may try again", async () => {
  await using dir = await tempFolder();
  const path = `${dir.path}/up.sock`;
  const { gateway, bootstrap } = openGateway({ folder: dir.path, upstream: webSocketUpstream(`unix:${path}`) });
  const url = `ws://${(await gateway.listenTcp(0)).address}/`;
  const one = await client(url, gateway.issue(bootstrap, "one", "interactive"));
  const hello = { clientInfo: { name: "test", version: "0.144.4" } };

  expect((await one.call("initialize", hello)).error).toMatchObject({ code: -32000, data: { name: "busy" } });
  const { server } = webSocketServer({ unix: path });
  expect((await one.call("initialize", hello)).result.method).toBe("initialize");

  await one.close();
  await gateway.stop();
  await server.stop(true);
});

test("upstreamUrl() takes loopback and absolute socket paths, and nothing else", () => {
  expect(upstreamUrl("ws://127.0.0.1:4500/")).toBe("ws://127.0.0.1:4500/");
  expect(upstreamUrl("unix:/run/a.sock")).toBe("ws+unix:///run/a.sock:/");
  for (const address of [
    "ws://localhost:1",
    "ws://127.0.0.1",
    "ws://127.0.0.1:0",
    "ws://127.0.0.1:65536",
    "ws://127.0.0.1:01",
    "wss://127.0.0.1:1",
    "ws://127.0.0.1:1/path",
    "ws://u@127.0.0.1:1",
    "http://127.0.0.1:1",
    "unix:relative",
    "unix:/with space",
    "",
  ])
    expect(() => upstreamUrl(address)).toThrow("upstream_invalid");
});
