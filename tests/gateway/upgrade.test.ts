// Raw-socket upgrade probes, the same table on TCP and on a Unix socket.
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { holdsWithin } from "../../src/base/clock.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { fakeGateway, rawProbe, upgradeHead } from "./gateway-fixture.ts";
import { probes } from "./upgrade-probes.ts";

for (const kind of ["tcp", "unix"] as const) {
  test(`${probes.length} upgrade probes on ${kind}: G151 G157 G158 G159 and each its own status`, async () => {
    await using dir = await tempFolder();
    await using opened = fakeGateway(dir.path, { forwardedPorts: [4321, 0] });
    const { gateway, bootstrap } = opened;
    const bearer = gateway.issue(bootstrap, "one", "interactive").exposeBearer((text) => text);
    const endpoint = kind === "tcp" ? await gateway.listenTcp(0) : await gateway.listenUnix(`${dir.path}/g.sock`);
    const host = kind === "tcp" ? endpoint.address : "localhost";
    const unauthenticated = new Set<string>();

    for (const [title, status, make] of probes) {
      await holdsWithin(() => !gateway.registry.list()[0]!.live, { withinMs: 10_000, everyMs: 1 });
      const answer = await rawProbe(endpoint.port ?? endpoint.address, make(host, bearer));
      expect(`${title}: ${answer.slice(9, 12)}`).toBe(`${title}: ${status}`);
      expect(answer.toLowerCase()).not.toContain("access-control");
      expect(answer).not.toContain(bearer);
      expect(answer.toLowerCase()).not.toMatch(/sec-websocket-(?:extensions|protocol)/);
      if (status === 101) continue;
      expect(answer).toContain("content-type: application/json");
      const { error } = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));
      expect(typeof error.data.name).toBe("string");
      if (status === 401) unauthenticated.add(answer);
    }
    expect(unauthenticated.size).toBe(1);
  });
}

test("G147 a forwarded Host is accepted", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path, { forwardedPorts: [4321] });
  const bearer = opened.gateway.issue(opened.bootstrap, "one", "observer").exposeBearer((text) => text);
  const { port } = await opened.gateway.listenTcp(0);

  expect(await rawProbe(port!, upgradeHead({ host: "127.0.0.1:4321", bearer }))).toStartWith("HTTP/1.1 101");
});

test("G125 G126 G127 G128 G129 half-open sockets use the budget up until their deadline, then a client gets in", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path, { limits: { handshakeMs: 15_000, maxConnections: 3 } });
  const { gateway, bootstrap } = opened;
  const bearer = gateway.issue(bootstrap, "one", "observer").exposeBearer((text) => text);
  const { port, address } = await gateway.listenTcp(0);
  const held = [1, 2, 3].map(() => connect(port!, "127.0.0.1"));
  expect(await holdsWithin(() => gateway.connections() === 3, { withinMs: 14_000, everyMs: 1 })).toBe(true);

  expect(await rawProbe(port!, "")).toBe("");
  expect(await holdsWithin(() => gateway.connections() === 0, { withinMs: 45_000 })).toBe(true);

  expect(await rawProbe(port!, upgradeHead({ host: address, bearer }))).toStartWith("HTTP/1.1 101");
  for (const socket of held) socket.destroy();
});

test("G007 G130 a head of 64 KiB is read, one byte more is closed without an answer", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path);
  const bearer = opened.gateway.issue(opened.bootstrap, "one", "observer").exposeBearer((text) => text);
  const { port, address } = await opened.gateway.listenTcp(0);
  const size = (extra: string) => upgradeHead({ host: address, bearer, extra: [`X-Pad: ${extra}`] });
  const room = 65_536 - size("").length;

  expect(await rawProbe(port!, size("x".repeat(room)))).toStartWith("HTTP/1.1 101");
  expect(await rawProbe(port!, size("x".repeat(room + 1)))).toBe("");
});
