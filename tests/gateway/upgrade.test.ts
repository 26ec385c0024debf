// Raw-socket upgrade probes, the same table on TCP and on a Unix socket.
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { holdsWithin } from "../../src/base/clock.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { fakeGateway, rawProbe, upgradeHead } from "./gateway-fixture.ts";

type Probe = readonly [title: string, status: number, make: (host: string, bearer: string) => string];

const secret = "0".repeat(64);
const withHeader =
  (...extra: string[]) =>
  (host: string, bearer: string) =>
    upgradeHead({ host, bearer, extra });
const withTarget = (target: string) => (host: string, bearer: string) => upgradeHead({ host, bearer, target });
const edited = (from: RegExp, to: string) => (host: string, bearer: string) =>
  upgradeHead({ host, bearer }).replace(from, to);

const probes: readonly Probe[] = [
  ["G133 other path", 404, withTarget("/rpc")],
  ["G133 dotted path", 404, withTarget("/a/..")],
  ["G133 query", 404, withTarget("/?x=1")],
  ["G133 path without a bearer", 404, (host) => upgradeHead({ host, target: "/x" })],
  ["G134 token in the query", 404, (host, bearer) => upgradeHead({ host, bearer, target: `/?token=${bearer}` })],
  ["G135 cookie", 400, withHeader("Cookie: a=b")],
  ["G136 subprotocol", 400, withHeader("Sec-WebSocket-Protocol: bearer")],
  ["G137 transfer-encoding", 400, withHeader("Transfer-Encoding: chunked")],
  ["G138 content-length 0", 400, withHeader("Content-Length: 0")],
  ["G138 content-length 1", 400, withHeader("Content-Length: 1")],
  ["G142 second content-length", 400, withHeader("Content-Length: 0", "Content-Length: 0")],
  ["G139 second host", 400, (host, bearer) => upgradeHead({ host, bearer, extra: [`Host: ${host}`] })],
  [
    "G140 equal second authorization",
    400,
    (host, bearer) => upgradeHead({ host, bearer, extra: [`Authorization: Bearer ${bearer}`] }),
  ],
  ["G141 second origin", 400, withHeader("Origin: a", "Origin: b")],
  ["G143 narrowing twice", 400, withHeader("X-Supercode-Permissions: observe", "X-Supercode-Permissions: observe")],
  ["G143 both spellings", 400, withHeader("X-Supercode-Permissions: observe", "X-Proctor-Permissions: observe")],
  ["G144 absolute form", 400, (host, bearer) => upgradeHead({ host, bearer, target: `ws://${host}/` })],
  ["G145 no Host", 400, edited(/Host: [^\r]*\r\n/, "")],
  ["G145 empty Host", 400, edited(/Host: [^\r]*/, "Host:")],
  ["G146 G148 foreign Host", 400, edited(/Host: [^\r]*/, "Host: evil.example")],
  ["G146 Host without a port", 400, edited(/Host: [^\r]*/, "Host: 127.0.0.1")],
  ["G146 other port", 400, edited(/Host: [^\r]*/, "Host: 127.0.0.1:1")],
  ["G146 forwarded port on another address", 400, edited(/Host: [^\r]*/, "Host: 127.0.0.2:4321")],
  ["G106 port with a zero in front", 400, edited(/Host: [^\r]*/, "Host: 127.0.0.1:04321")],
  ["G149 B18 origin", 400, withHeader("Origin: https://evil.example")],
  ["G149 B18 origin null", 400, withHeader("Origin: null")],
  ["G149 B18 empty origin", 400, withHeader("origin:")],
  ["G150 no bearer", 401, (host) => upgradeHead({ host })],
  ["G150 other scheme", 401, (host) => upgradeHead({ host, extra: ["Authorization: Basic eA=="] })],
  ["G040 no dot", 401, (host) => upgradeHead({ host, bearer: "nodot" })],
  ["G043 unknown digest", 401, (host) => upgradeHead({ host, bearer: `one.${secret}` })],
  ["G152 lower-case scheme", 401, edited(/Bearer /, "bearer ")],
  ["G152 B20 two spaces", 401, edited(/Bearer /, "Bearer  ")],
  ["G152 B20 tab", 401, edited(/Bearer /, "Bearer\t")],
  ["B20 two values in one line", 401, (host, bearer) => upgradeHead({ host, bearer: `${bearer}, Bearer ${bearer}` })],
  ["G042 upper case", 401, (host, bearer) => upgradeHead({ host, bearer: `one.${bearer.slice(4).toUpperCase()}` })],
  ["G042 63 digits", 401, (host, bearer) => upgradeHead({ host, bearer: bearer.slice(0, -1) })],
  ["G042 65 digits", 401, (host, bearer) => upgradeHead({ host, bearer: `${bearer}0` })],
  ["G153 wrong client id", 403, (host, bearer) => upgradeHead({ host, bearer: bearer.replace("one.", "two.") })],
  ["G155 unknown right", 400, withHeader("X-Proctor-Permissions: observe,admin")],
  ["G155 empty narrowing", 400, withHeader("X-Proctor-Permissions:")],
  ["G155 not ASCII", 400, withHeader("X-Proctor-Permissions: obsérve")],
  ["G156 path before cookie", 404, (host, bearer) => upgradeHead({ host, bearer, target: "/x", extra: ["Cookie: a"] })],
  ["G156 origin before credential", 400, (host) => upgradeHead({ host, extra: ["Origin: x"] })],
  ["HTTP/1.0", 400, edited(/HTTP\/1.1/, "HTTP/1.0")],
  ["other method", 400, edited(/^GET/, "POST")],
  ["bare line feeds", 400, edited(/\r\nUpgrade/, "\nUpgrade")],
  ["space before the colon", 400, edited(/Upgrade:/, "Upgrade :")],
  ["folded header", 400, withHeader("X-A: b", " c")],
  ["other version", 400, edited(/Version: 13/, "Version: 8")],
  ["no key", 400, edited(/Sec-WebSocket-Key: [^\r]*\r\n/, "")],
  ["good", 101, withHeader()],
  ["good and narrowed", 101, withHeader("X-Proctor-Permissions: observe, terminate")],
];

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
