// The probe is green on our endpoint and finds each planted hole of a server that is strict otherwise.
import { expect, test } from "bun:test";
import { chmodSync, renameSync, symlinkSync } from "node:fs";
import { codeOf } from "../../src/base/failure.ts";
import { probeEndpoint } from "../../src/gateway/probe.ts";
import { projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { fakeGateway } from "./gateway-fixture.ts";
import { serve } from "./serve-fixture.ts";
import { goodBearer, headHoles, openWeakServer, revokedBearer, stayingHoles } from "./weak-server.ts";

const openOf = (result: { checks: ReadonlyArray<{ check: string; outcome: string }> }) =>
  result.checks.filter((one) => one.outcome === "open").map((one) => one.check);

test.concurrent("probeEndpoint() finds every door of our gateway closed, with and without a valid bearer", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path, { limits: { handshakeMs: 1500 } });
  const { gateway, bootstrap } = opened;
  const bearer = gateway.issue(bootstrap, "one", "interactive").exposeBearer((text) => text);
  const revoked = gateway.issue(bootstrap, "two", "interactive");
  const spent = revoked.exposeBearer((text) => text);
  await gateway.revoke(bootstrap, revoked);
  const tcp = await gateway.listenTcp(0);
  const unix = await gateway.listenUnix(`${dir.path}/g.sock`);

  for (const [address, given] of [
    [`ws://${tcp.address}/`, {}],
    [`ws://${tcp.address}/`, { bearer, revoked: spent }],
    [`unix:${unix.address}`, { bearer, revoked: spent }],
  ] as const) {
    const result = await probeEndpoint(address, given);
    const kinds = new Set(result.checks.map((one) => one.outcome));
    expect([openOf(result), result.passed]).toEqual([[], true]);
    expect(kinds).toEqual(new Set("bearer" in given ? ["refused"] : ["refused", "skipped"]));
  }
});

test.concurrent("`gateway probe --runtime-dir` is green on a running gateway and leaves no credential behind", async () => {
  await using dir = await tempFolder();
  const upstream = [process.execPath, `${projectRoot}fixtures/programs/fake-app-server.ts`];
  await using served = await serve({ folder: dir.path, upstream });

  const probed = await served.operator("probe");

  expect([probed.err, probed.code]).toEqual(["", 0]);
  const result = JSON.parse(probed.out);
  expect(result.checks.every((one: { outcome: string }) => one.outcome === "refused")).toBe(true);
  expect(result.checks.length).toBeGreaterThan(40);
  expect(JSON.parse((await served.operator("list")).out)).toEqual({ credentials: [] });
}, 120_000);

test.concurrent("probeEndpoint() finds nothing in the strict server, and each hole of a head by its own name", async () => {
  const given = { bearer: goodBearer, revoked: revokedBearer };
  await using strict = await openWeakServer("none");
  const sound = await probeEndpoint(strict.address, given);
  expect(openOf(sound)).toEqual([]);
  const heads = Object.keys(headHoles);
  // Every check has a hole of its own, but for the path of a Unix socket, whose holes are in the file system.
  expect(sound.checks.map((one) => one.check).sort()).toEqual([...heads, ...stayingHoles].sort());

  const findsIt = async (hole: string) => {
    await using weak = await openWeakServer(hole);
    const result = await probeEndpoint(weak.address, { ...given, only: [...heads, "endless_head"] });
    expect([hole, ...openOf(result)]).toEqual([hole, hole]);
    expect(result.passed).toBe(false);
  };
  for (let at = 0; at < heads.length; at += 6) await Promise.all(heads.slice(at, at + 6).map(findsIt));
});

test.concurrent("probeEndpoint() finds each hole of frames and of heads that never end by its own name", async () => {
  const given = { bearer: goodBearer, revoked: revokedBearer, waitMs: 1500 };
  await Promise.all(
    stayingHoles.map(async (hole) => {
      await using weak = await openWeakServer(hole);
      expect([hole, ...openOf(await probeEndpoint(weak.address, { ...given, only: [hole] }))]).toEqual([hole, hole]);
    }),
  );
});

test.concurrent("probeEndpoint() names a socket behind a link, with a wide mode or in a shared folder", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path);
  const { address } = await opened.gateway.listenUnix(`${dir.path}/g.sock`);
  const pathOf = async (path: string) =>
    (await probeEndpoint(`unix:${path}`, { only: ["no_credential", "socket_path"] })).checks.at(-1)?.outcome;

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

test.concurrent("probeEndpoint() attacks this machine only, knows its checks, and says when nobody answers", async () => {
  for (const address of [
    "ws://192.0.2.1:80/",
    "wss://127.0.0.1:80/",
    "ws://127.0.0.1:0/",
    "unix:relative",
    "http://127.0.0.1:1/",
  ])
    expect([address, await probeEndpoint(address).catch(codeOf)]).toEqual([address, "probe_target_invalid"]);
  expect(await probeEndpoint("ws://127.0.0.1:9/", { only: ["no_such"] }).catch(codeOf)).toBe("probe_check_unknown");
  expect(await probeEndpoint("unix:/nowhere/at/all", { waitMs: 200 }).catch(codeOf)).toBe("gateway_unreachable");
});
