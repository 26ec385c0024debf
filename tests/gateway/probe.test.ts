// The probe is green on our endpoint and names the planted holes of a weak one.
import { expect, test } from "bun:test";
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
