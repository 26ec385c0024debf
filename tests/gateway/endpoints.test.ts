// Listeners: loopback only, private sockets only, honest health, and a configuration that is fixed once shared.
import { expect, test } from "bun:test";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { codeOf } from "../../src/base/failure.ts";
import { AuditLog } from "../../src/gateway/audit-log.ts";
import { endpointOf } from "../../src/gateway/endpoint.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { listenTcp } from "../../src/gateway/tcp-listener.ts";
import { listenUnix } from "../../src/gateway/unix-listener.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { fakeGateway, rawProbe, readyClient, upgradeHead } from "./gateway-fixture.ts";

const noUpstream = () => Promise.reject(new Error("no upstream here"));

test("G103 G104 TCP listens on 127.0.0.1 alone, free ports differ and are told", async () => {
  await using one = await openedTcp();
  await using two = await openedTcp();

  expect(one.endpoint.port).not.toBe(two.endpoint.port);
  for (const { endpoint } of [one, two]) {
    expect(endpoint.address).toBe(`127.0.0.1:${endpoint.port}`);
    if (process.platform === "linux") expect(boundAddresses(endpoint.port!)).toEqual(["0100007F"]);
  }
  for (const word of ["0.0.0.0", "::1", "localhost", "0.0.0.0:0", -1, 65536, 1.5])
    expect(await listenTcp(word as number, () => {}).then(() => "none", codeOf)).toBe("endpoint_invalid");
});

async function openedTcp() {
  const { gateway } = openGateway({ folder: "/", upstream: noUpstream });
  const endpoint = await gateway.listenTcp(0);
  return { endpoint, [Symbol.asyncDispose]: () => gateway.stop() };
}

/** Local addresses in LISTEN on a port, from the kernel's tables. */
function boundAddresses(port: number): string[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  return ["tcp", "tcp6"].flatMap((table) =>
    readFileSync(`/proc/net/${table}`, "utf8")
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .filter((words) => words[3] === "0A" && words[1]?.endsWith(`:${wanted}`))
      .map((words) => words[1]!.split(":")[0]!),
  );
}

test("G105 a taken port is an error", async () => {
  await using one = await openedTcp();
  const fault = await listenTcp(one.endpoint.port!, () => {}).then(() => "none", codeOf);
  expect(fault).toBe("endpoint_unavailable");
});

test("G107 forwarded ports and the client home change only before the gateway is shared", async () => {
  const { gateway, bootstrap } = openGateway({ folder: "/", upstream: noUpstream });
  gateway.configure({ forwardedPorts: [4321, 0], clientHome: "/declared" });
  const { port } = await gateway.listenTcp(0);
  const bearer = gateway.issue(bootstrap, "one", "observer").exposeBearer((text) => text);

  expect(() => gateway.configure({ forwardedPorts: [1] })).toThrow("configuration_locked");
  expect(() => gateway.configure({ clientHome: "/other" })).toThrow("configuration_locked");

  expect(gateway.coordinator.clientHome).toBe("/declared");
  expect(await rawProbe(port!, upgradeHead({ host: "127.0.0.1:4321", bearer }))).toStartWith("HTTP/1.1 101");
  await gateway.stop();
});

test("G108 G109 the client home is told, and neither made nor removed", async () => {
  await using dir = await tempFolder();
  mkdirSync(`${dir.path}/kept`);
  for (const [clientHome, told] of [
    [`${dir.path}/absent`, `${dir.path}/absent`],
    [`${dir.path}/kept`, `${dir.path}/kept`],
    [undefined, dir.path],
  ] as const) {
    await using opened = fakeGateway(dir.path, clientHome === undefined ? {} : { clientHome });
    const url = `ws://${(await opened.gateway.listenTcp(0)).address}/`;
    const one = await readyClient(url, opened.gateway.issue(opened.bootstrap, "one", "observer"));
    expect(one.inbox[0]!.result.codexHome).toBe(told);
    await one.close();
  }
  expect(existsSync(`${dir.path}/absent`)).toBe(false);
  expect(existsSync(`${dir.path}/kept`)).toBe(true);
});

test("G111 G114 G116 a socket path has a parent of this user's own, and other errors are told as such", async () => {
  await using dir = await tempFolder();
  writeFileSync(`${dir.path}/file`, "");
  const fault = (path: string, uid?: number) =>
    listenUnix(path, () => {}, uid === undefined ? {} : { uid }).then(() => "none", codeOf);

  expect(await fault("/")).toBe("endpoint_invalid");
  expect(await fault("s")).toBe("endpoint_invalid");
  expect(await fault("")).toBe("endpoint_invalid");
  expect(await fault(`${dir.path}/s`, 4_000_000)).toBe("permission_denied");
  expect(await fault(`${dir.path}/file/x/s`)).toBe("endpoint_unavailable");
  expect(readdirSync(dir.path)).toEqual(["file"]);
});

test("G115 G119 a missing parent is made 0700, one level only; the socket goes at stop and the folder stays", async () => {
  await using dir = await tempFolder();
  const { gateway } = openGateway({ folder: dir.path, upstream: noUpstream });
  const before = process.umask(0);
  try {
    await gateway.listenUnix(`${dir.path}/made/s`);
  } finally {
    process.umask(before);
  }
  expect(lstatSync(`${dir.path}/made`).mode & 0o777).toBe(0o700);
  expect(lstatSync(`${dir.path}/made/s`).mode & 0o777).toBe(0o600);
  expect(await gateway.listenUnix(`${dir.path}/a/b/s`).then(() => "none", codeOf)).toBe("endpoint_unavailable");

  await gateway.stop();

  expect(readdirSync(dir.path)).toEqual(["made"]);
  expect(readdirSync(`${dir.path}/made`)).toEqual([]);
  chmodSync(`${dir.path}/made`, 0o770);
  expect(await listenUnix(`${dir.path}/made/s`, () => {}).then(() => "none", codeOf)).toBe("permission_denied");
});

test("G120 G121 G122 an endpoint is ready, shutting down, then stopped, and nothing connects after the answer", async () => {
  const { gateway } = openGateway({ folder: "/", upstream: noUpstream });
  const endpoint = await gateway.listenTcp(0);
  expect(endpoint.health()).toBe("ready");

  const stopping = endpoint.stop();
  expect(endpoint.health()).toBe("shutting_down");
  await stopping;

  expect(endpoint.health()).toBe("stopped");
  const connected = Promise.withResolvers<boolean>();
  const socket = connect(endpoint.port!, "127.0.0.1");
  socket.on("connect", () => connected.resolve(true));
  socket.on("error", () => connected.resolve(false));
  expect(await connected.promise).toBe(false);
  socket.destroy();
  await endpoint.stop();
});

test("G123 a handle that leaves its scope stops the listener", async () => {
  await using dir = await tempFolder();
  const { gateway } = openGateway({ folder: dir.path, upstream: noUpstream });
  let health = () => "unknown";
  {
    await using endpoint = await gateway.listenUnix(`${dir.path}/s`);
    health = endpoint.health;
    expect(health()).toBe("ready");
  }
  expect(health()).toBe("stopped");
  expect(readdirSync(dir.path)).toEqual([]);
});

test("G124 an accept error ends the loop and shows as stopped", async () => {
  const listener = await listenTcp(0, () => {});
  let removed = 0;
  const endpoint = endpointOf(listener.server, { address: listener.address, remove: () => removed++ });

  listener.server.emit("error", new Error("accept failed"));

  expect(endpoint.health()).toBe("stopped");
  await endpoint.stop();
  expect(removed).toBe(1);
  expect(listener.server.listening).toBe(false);
});

test("G101 G102 termination is audited as the operator's; when the runtime stays, clients are revoked all the same", async () => {
  await using dir = await tempFolder();
  const audit = new AuditLog(`${dir.path}/audit.jsonl`);
  const { gateway, bootstrap } = openGateway({
    folder: dir.path,
    audit,
    upstream: ({ message }) =>
      Promise.resolve({
        send: (text) => message(JSON.stringify({ id: JSON.parse(text).id, result: {} })),
        close: () => Promise.resolve(false),
      }),
  });
  const url = `ws://${(await gateway.listenTcp(0)).address}/`;
  const one = await readyClient(url, gateway.issue(bootstrap, "one", "interactive"));

  expect(await gateway.terminate(bootstrap).catch(codeOf)).toBe("runtime_close_failed");

  expect(await one.closed).toBe(1008);
  expect(gateway.registry.size).toBe(0);
  const notes = readFileSync(`${dir.path}/audit.jsonl`, "utf8").trim().split("\n");
  expect(JSON.parse(notes.at(-1)!)).toMatchObject({
    event: "operator",
    client: "proctor-operator",
    reason: "terminate",
  });
  await gateway.stop();
  audit.close();
});
