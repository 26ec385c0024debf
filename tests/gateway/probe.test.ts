// The probe is green on our endpoint and names the planted holes of a weak one.
import { expect, test } from "bun:test";
import { chmodSync, renameSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { probeEndpoint } from "../../src/gateway/probe.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { fakeGateway } from "./gateway-fixture.ts";

test("probeEndpoint() finds every door of our gateway closed, with and without a valid bearer", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path);
  const { gateway, bootstrap } = opened;
  const bearer = gateway.issue(bootstrap, "one", "interactive").exposeBearer((text) => text);
  const tcp = await gateway.listenTcp(0);
  const unix = await gateway.listenUnix(`${dir.path}/g.sock`);

  for (const address of [`ws://${tcp.address}/`, `unix:${unix.address}`])
    for (const given of [undefined, bearer]) {
      const { passed, checks } = await probeEndpoint(address, given);
      expect(checks.filter((one) => one.outcome === "open")).toEqual([]);
      expect(passed).toBe(true);
    }
});

test("probeEndpoint() names the planted holes of a weak server", async () => {
  using weak = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request, server) {
      const query = new URL(request.url).searchParams.has("token");
      const declared = request.headers.has("x-supercode-permissions");
      if ((query || declared) && server.upgrade(request)) return undefined;
      return new Response("no", { status: 401 });
    },
    websocket: { message() {} },
  });

  const { passed, checks } = await probeEndpoint(`ws://127.0.0.1:${weak.port}/`);

  expect(passed).toBe(false);
  expect(checks.filter((one) => one.outcome === "open").map((one) => one.check)).toEqual([
    "query_token",
    "self_declared_rights",
  ]);
});

test("probeEndpoint() names a socket behind a link, with a wide mode or in a shared folder", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path);
  const { address } = await opened.gateway.listenUnix(`${dir.path}/g.sock`);
  const pathOf = async (path: string) =>
    (await probeEndpoint(`unix:${path}`)).checks.find((one) => one.check === "socket_path")?.outcome;

  expect(await pathOf(address)).toBe("refused");
  chmodSync(address, 0o666);
  expect(await pathOf(address)).toBe("open");
  chmodSync(address, 0o600);
  chmodSync(dir.path, 0o755);
  expect(await pathOf(address)).toBe("open");
  chmodSync(dir.path, 0o700);
  renameSync(address, `${dir.path}/moved.sock`);
  symlinkSync(`${dir.path}/moved.sock`, address);
  expect(await pathOf(address)).toBe("open");
});

test("probeEndpoint() names a server that trusts a forwarded address", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      const trusted = chunk.toString("latin1").includes("X-Real-IP: 127.0.0.1");
      socket.end(trusted ? "HTTP/1.1 101 Switching Protocols\r\n\r\n" : "HTTP/1.1 401 Unauthorized\r\n\r\n");
    });
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  const { port } = server.address() as { port: number };

  const { checks } = await probeEndpoint(`ws://127.0.0.1:${port}/`);

  expect(checks.filter((one) => one.outcome === "open").map((one) => one.check)).toEqual(["limiter_bypass"]);
  server.close();
});
