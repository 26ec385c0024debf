// The small primitives: locks, secrets, bytes, JSON, visible text, environment, time, output.
import { expect, test } from "bun:test";
import { linkSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { inspect } from "node:util";
import * as bytes from "../../src/base/bytes.ts";
import { holdsWithin } from "../../src/base/clock.ts";
import { pickEnvironment } from "../../src/base/environment.ts";
import { codeOf, Failure } from "../../src/base/failure.ts";
import { lockWithin, tryLock } from "../../src/base/file-lock.ts";
import { canonicalJson, isRecord, parseJson } from "../../src/base/json.ts";
import { Secret } from "../../src/base/secret.ts";
import { stateFolder } from "../../src/base/self.ts";
import { visible } from "../../src/base/visible.ts";
import { handClock } from "../support/hand-clock.ts";
import { tempFolder } from "../support/temp-folder.ts";

test("tryLock() is exclusive within a process too, private, and refuses links", async () => {
  await using dir = await tempFolder();
  const path = `${dir.path}/.lock`;

  const lock = tryLock(path)!;

  expect(tryLock(path)).toBeNull();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  lock.release();
  lock.release();
  const again = await lockWithin(path, { withinMs: 1000 });
  expect(again).not.toBeNull();
  expect(await lockWithin(path, { withinMs: 100, clock: handClock() })).toBeNull();
  again!.release();
  symlinkSync(path, `${dir.path}/link`);
  expect(() => tryLock(`${dir.path}/link`)).toThrow("invalid_lock");
  linkSync(path, `${dir.path}/second`);
  expect(() => tryLock(path)).toThrow("invalid_lock");
  writeFileSync(`${dir.path}/open`, "", { mode: 0o644 });
  expect(() => tryLock(`${dir.path}/open`)).toThrow("invalid_lock");
  expect(() => tryLock(`${dir.path}/none/.lock`)).toThrow("private_file_missing");
});

test("the lock of a killed holder is free at once", async () => {
  await using dir = await tempFolder();
  const module = new URL("../../src/base/file-lock.ts", import.meta.url).href;
  const program = `const { tryLock } = await import(${JSON.stringify(module)}); tryLock(${JSON.stringify(`${dir.path}/.lock`)}); console.log("ready"); setInterval(() => {}, 1000);`;
  const holder = Bun.spawn([process.execPath, "-e", program], { env: {}, stdout: "pipe" });
  await holder.stdout.getReader().read();
  expect(tryLock(`${dir.path}/.lock`)).toBeNull();

  holder.kill("SIGKILL");
  await holder.exited;

  expect(await lockWithin(`${dir.path}/.lock`, { withinMs: 30_000 })).not.toBeNull();
});

test("a Secret shows itself only to the one who uses it", () => {
  const secret = Secret.from("hush-hush");

  expect([String(secret), JSON.stringify({ secret }), inspect(secret), Bun.inspect(secret)].join()).not.toContain(
    "hush",
  );
  expect(secret.exposeText((text) => text.length)).toBe(9);
  expect([secret.matches(Secret.from("hush-hush")), secret.matches(bytes.utf8("hush-husH"))]).toEqual([true, false]);
  expect(secret.digest()).toBe(bytes.sha256Hex("hush-hush"));
  secret.wipe();
  expect(() => secret.expose(() => 0)).toThrow("secret_wiped");
  expect(secret.matches(new Uint8Array(9))).toBe(false);
  expect(Secret.random(4, (n) => new Uint8Array(n).fill(7)).expose((b) => bytes.toHex(b))).toBe("07070707");
});

test("hex, base64url and UTF-8 readers take the canonical spelling alone", () => {
  expect(bytes.toHex(bytes.fromHex("00ff10")!)).toBe("00ff10");
  for (const text of ["0", "0G", "FF", " 00"]) expect(bytes.fromHex(text)).toBeNull();
  for (const text of ["", "AA", "AAA", "AAAA", "_-8"]) expect(bytes.toBase64Url(bytes.fromBase64Url(text)!)).toBe(text);
  for (const text of ["A", "AB", "AA==", "A+A/", "AAA\n"]) expect(bytes.fromBase64Url(text)).toBeNull();
  expect(bytes.decodeUtf8(new Uint8Array([0xff]))).toBeNull();
  expect(bytes.decodeUtf8(new Uint8Array([0xef, 0xbb, 0xbf]))).toBe("\ufeff");
  expect(bytes.equalBytes(bytes.utf8("a"), bytes.utf8("ab"))).toBe(false);
  expect(bytes.concatBytes([bytes.utf8("a"), bytes.utf8("bc")])).toEqual(bytes.utf8("abc"));
});

test("JSON is parsed without throwing and written in one form", () => {
  expect(parseJson("{")).toBeUndefined();
  expect(parseJson(new Uint8Array([0x22, 0xff, 0x22]))).toBeUndefined();
  expect(parseJson("[".repeat(200_000))).toBeUndefined();
  expect([isRecord({}), isRecord([]), isRecord(null)]).toEqual([true, false, false]);
  expect(canonicalJson({ b: [1, { d: 1, c: null }], a: undefined, A: "é" })).toBe('{"A":"é","b":[1,{"c":null,"d":1}]}');
});

test("visible() takes out what hides, reorders or controls, and bounds the rest", () => {
  expect(visible("a\u0000\u001b[31mb\u202ec\u200bd\ufeffe\u{e0041}f\ufe0fg\u2028h\n")).toBe("a[31mbcdefgh");
  expect(visible("x".repeat(200)).length).toBe(200);
  expect(visible("x".repeat(201)).length).toBe(200);
  expect(visible("😀😀😀", 2)).toBe("😀😀");
});

test("holdsWithin() gives up on the deadline without waiting in real time", async () => {
  const clock = handClock();

  expect(await holdsWithin(() => false, { withinMs: 10_000, clock })).toBe(false);
  expect(clock.sleptMs).toBe(10_000);
  expect(await holdsWithin(() => true, { withinMs: 0, clock })).toBe(true);
});

test("environments are picked by name, states are found by the standard, strangers are internal", () => {
  expect(pickEnvironment({ A: "1", B: undefined, BUN_OPTIONS: "x" }, ["A", "B"])).toEqual({ A: "1" });
  expect(stateFolder({ HOME: "/h" })).toBe("/h/.local/state/proctor");
  expect(stateFolder({ HOME: "/h", XDG_STATE_HOME: "/s/" })).toBe("/s/proctor");
  expect(stateFolder({ HOME: "/h", XDG_STATE_HOME: "relative" })).toBe("/h/.local/state/proctor");
  expect(() => stateFolder({})).toThrow("home_folder_missing");
  expect([codeOf(new Failure("known")), codeOf(new Error("text"))]).toEqual(["known", "internal"]);
});
