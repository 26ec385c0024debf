// B24: what a killed gateway leaves, what stands at a socket's path, two gateways at once, and paths that are too long.
// The gateway is a process of its own here, started as an operator starts it.
import { expect, test } from "bun:test";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { codeOf } from "../../src/base/failure.ts";
import { listenUnix } from "../../src/gateway/unix-listener.ts";
import { projectRoot } from "../support/binary.ts";
import { type TempFolder, tempFolder } from "../support/temp-folder.ts";
import { readyClient } from "./gateway-fixture.ts";
import { type Served, serve } from "./serve-fixture.ts";

const upstream = [process.execPath, `${projectRoot}fixtures/programs/fake-app-server.ts`];
const start = (dir: TempFolder, socket: string, runtimeDir = `${dir.path}/run`) =>
  serve({ folder: dir.path, runtimeDir, upstream, words: ["--socket", socket] });
const refusal = (started: Promise<Served>) =>
  started.then(
    () => "started",
    (error: Error) => error.message,
  );
const unixUrl = (socket: string) => `ws+unix://${socket}:/`;

async function bearerFrom(served: Served, name: string): Promise<string> {
  const file = `${served.runtimeDir}/${name}.bearer`;
  expect((await served.operator("issue", "--client-id", name, "--output", file)).err).toBe("");
  return readFileSync(file, "utf8");
}

test("B24 after a hard kill the socket is refused with its remedy, the folder is taken over, and nothing stale is used", async () => {
  await using dir = await tempFolder();
  const socket = `${dir.path}/own/s`;
  const killed = await start(dir, socket);
  const inode = lstatSync(socket).ino;
  killed.group.signalLeader("SIGKILL");
  await killed.group.exited;
  const left = readdirSync(killed.runtimeDir).filter((name) => name.startsWith("bootstrap-"));

  expect(await refusal(start(dir, socket))).toContain("remove it yourself if it is a dead socket");
  expect([left.length, lstatSync(socket).ino]).toEqual([1, inode]);

  rmSync(socket);
  await using again = await start(dir, socket);
  const now = readdirSync(again.runtimeDir).filter((name) => name.startsWith("bootstrap-"));
  expect([now.length, now[0] === left[0]]).toEqual([1, false]);
  const bearer = await bearerFrom(again, "one");
  await (await readyClient(unixUrl(socket), bearer, { Host: "localhost" })).close();
  await again.group.stop();
  expect(readdirSync(`${dir.path}/own`)).toEqual([]);
}, 120_000);

test("B24 a regular file, a link to another's file and a live listener stay exactly as they are", async () => {
  await using dir = await tempFolder();
  mkdirSync(`${dir.path}/p`, { mode: 0o700 });
  writeFileSync(`${dir.path}/theirs`, "theirs");
  writeFileSync(`${dir.path}/p/file`, "keep");
  symlinkSync(`${dir.path}/theirs`, `${dir.path}/p/link`);
  const live = createServer((socket) => socket.end("alive"));
  const listening = Promise.withResolvers<void>();
  live.listen(`${dir.path}/p/live`, listening.resolve);
  await listening.promise;
  const inode = lstatSync(`${dir.path}/p/live`).ino;

  for (const name of ["file", "link", "live"])
    expect([name, await refusal(start(dir, `${dir.path}/p/${name}`))]).toEqual([
      name,
      expect.stringContaining("endpoint_exists"),
    ]);

  expect(readFileSync(`${dir.path}/p/file`, "utf8")).toBe("keep");
  expect(readFileSync(`${dir.path}/theirs`, "utf8")).toBe("theirs");
  expect(lstatSync(`${dir.path}/p/link`).isSymbolicLink()).toBe(true);
  expect(lstatSync(`${dir.path}/p/live`).ino).toBe(inode);
  expect(readdirSync(`${dir.path}/p`).sort()).toEqual(["file", "link", "live"]);
  live.close();
}, 120_000);

test("B24 of two gateways at once one serves, in one folder and on one socket", async () => {
  await using dir = await tempFolder();
  const both = await Promise.allSettled([start(dir, `${dir.path}/own/a`), start(dir, `${dir.path}/own/b`)]);
  const apart = await Promise.allSettled(
    ["x", "y"].map((name) => start(dir, `${dir.path}/own/c`, `${dir.path}/${name}`)),
  );

  for (const [pair, code] of [
    [both, "gateway_running"],
    [apart, "endpoint_exists"],
  ] as const) {
    const served = pair.filter((one) => one.status === "fulfilled").map((one) => one.value);
    const refused = pair.filter((one) => one.status === "rejected").map((one) => String(one.reason));
    expect([served.length, refused.length]).toEqual([1, 1]);
    expect(refused[0]).toContain(code);
    const bearer = await bearerFrom(served[0]!, "one");
    const client = await readyClient(unixUrl(served[0]!.addresses[1]!.slice(5)), bearer, { Host: "localhost" });
    await client.close();
    await served[0]![Symbol.asyncDispose]();
  }
}, 120_000);

test("B24 of two listeners that both find the path free one has it, the other is told, and nothing else is left", async () => {
  await using dir = await tempFolder();
  const path = `${dir.path}/p/one`;
  const umask = process.umask();

  const both = await Promise.allSettled([listenUnix(path, () => {}), listenUnix(path, () => {})]);

  const [won, lost] = [both.find((one) => one.status === "fulfilled"), both.find((one) => one.status === "rejected")];
  expect(codeOf(lost?.reason)).toBe("endpoint_exists");
  expect(readdirSync(`${dir.path}/p`)).toEqual(["one"]);
  expect([lstatSync(path).mode & 0o777, process.umask()]).toEqual([0o600, umask]);
  won?.value.remove();
  won?.value.server.close();
});

test("B24 a path of 104 or 120 bytes is refused before anything is made, naming the limit; 103 bytes are served", async () => {
  await using dir = await tempFolder();
  mkdirSync(`${dir.path}/p`, { mode: 0o700 });
  const path = (bytes: number) => `${dir.path}/p/${"s".repeat(bytes - dir.path.length - 3)}`;

  for (const bytes of [104, 120]) {
    expect(await refusal(start(dir, path(bytes)))).toContain("longer than 103 bytes");
    expect(readdirSync(`${dir.path}/p`)).toEqual([]);
  }
  await using served = await start(dir, path(103));
  const client = await readyClient(unixUrl(path(103)), await bearerFrom(served, "one"), { Host: "localhost" });
  await client.close();
}, 120_000);

test("B24 G119 a stop removes the socket only while it is the one this gateway made", async () => {
  await using dir = await tempFolder();
  const [own, theirs] = [
    await listenUnix(`${dir.path}/own`, () => {}),
    await listenUnix(`${dir.path}/theirs`, () => {}),
  ];
  expect(readdirSync(dir.path).sort()).toEqual(["own", "theirs"]);
  renameSync(`${dir.path}/theirs`, `${dir.path}/moved`);
  writeFileSync(`${dir.path}/theirs`, "put here meanwhile");

  for (const listener of [own, theirs]) {
    const closed = Promise.withResolvers<void>();
    listener.server.close(() => closed.resolve());
    await closed.promise;
    listener.remove();
  }

  expect(readdirSync(dir.path).sort()).toEqual(["moved", "theirs"]);
  expect(readFileSync(`${dir.path}/theirs`, "utf8")).toBe("put here meanwhile");
});

test("a place that is taken costs nobody a credential; a bearer that cannot be handed over leaves none behind", async () => {
  await using dir = await tempFolder();
  await using served = await serve({ folder: dir.path, upstream });
  const taken = `${served.runtimeDir}/taken`;
  writeFileSync(taken, "theirs");
  const credentials = async () => JSON.parse((await served.operator("list")).out).credentials.length;

  expect((await served.operator("issue", "--client-id", "a", "--output", taken)).code).toBe(1);
  expect(await credentials()).toBe(0);
  await bearerFrom(served, "a");
  expect((await served.operator("rotate", "--client-id", "a", "--output", taken)).code).toBe(1);
  expect(await credentials()).toBe(1);
  expect(readFileSync(taken, "utf8")).toBe("theirs");
  if (process.platform !== "linux") return;

  // A folder that is there and takes no file, not even root's.
  const refusing = "/proc/bearer";
  expect((await served.operator("rotate", "--client-id", "a", "--output", refusing)).code).toBe(1);
  expect(await credentials()).toBe(0);
  expect((await served.operator("issue", "--client-id", "b", "--output", refusing)).code).toBe(1);
  expect(await credentials()).toBe(0);
}, 120_000);
