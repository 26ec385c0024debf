// The bootstrap's file when the random source, the disk or the folder misbehaves: nothing half done stays.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { codeOf } from "../../src/base/failure.ts";
import { Bootstrap, BootstrapAuthority } from "../../src/gateway/bootstrap.ts";
import { rotateBootstrapFile, useBootstrapFile, writeBootstrapFile } from "../../src/gateway/bootstrap-file.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { tempFolder } from "../support/temp-folder.ts";

const noUpstream = () => Promise.reject(new Error("no upstream here"));
const faultOf = (act: () => unknown) => {
  try {
    act();
    return "none";
  } catch (error) {
    return `${codeOf(error)}`;
  }
};

test("G076 an occupied name is drawn anew three times, then the collision code", async () => {
  await using dir = await tempFolder();
  const bootstrap = Bootstrap.draw("g");
  let draws = 0;
  const random = (n: number) => {
    draws++;
    return new Uint8Array(n).fill(7);
  };
  const planted = `${dir.path}/bootstrap-${"07".repeat(16)}.credential`;
  writeFileSync(planted, "keep");

  expect(faultOf(() => writeBootstrapFile(dir.path, bootstrap, { random }))).toBe("credential_collision");

  expect(draws).toBe(3);
  expect(readFileSync(planted, "utf8")).toBe("keep");
  let name = 0;
  writeBootstrapFile(dir.path, bootstrap, { random: (n) => new Uint8Array(n).fill(++name < 3 ? 7 : 8) });
  expect(readdirSync(dir.path)).toHaveLength(2);
});

test("G077 G080 G082 a failing name, write, sync or metadata read leaves no file and has its code", async () => {
  await using dir = await tempFolder();
  const bootstrap = Bootstrap.draw("g");
  const fail = (): never => {
    throw Object.assign(new Error("disk full"), { code: "ENOSPC" });
  };

  expect(faultOf(() => writeBootstrapFile(dir.path, bootstrap, { random: fail }))).toBe("random_source");
  expect(faultOf(() => writeBootstrapFile(dir.path, bootstrap, { write: fail }))).toBe("credential_file");
  expect(faultOf(() => writeBootstrapFile(dir.path, bootstrap, { inspect: fail }))).toBe("credential_file");
  expect(readdirSync(dir.path)).toEqual([]);
});

test("G079 the encoded copy is wiped after a write, also after a failed one", async () => {
  await using dir = await tempFolder();
  const bootstrap = Bootstrap.draw("g");
  const watched: Uint8Array[] = [];
  let seen = "";
  const write = (_fd: number, bytes: Uint8Array) => {
    watched.push(bytes);
    seen = new TextDecoder().decode(bytes);
    if (watched.length === 2) throw new Error("disk full");
  };
  writeBootstrapFile(dir.path, bootstrap, { write });
  expect(seen).toMatch(/^[0-9a-f]{64}$/);
  expect(faultOf(() => writeBootstrapFile(dir.path, bootstrap, { write }))).toBe("credential_file");
  for (const bytes of watched) expect(bytes.every((byte) => byte === 0)).toBe(true);
});

test("G083 G089 only the current bootstrap is written, and no client's credential ever is", async () => {
  await using dir = await tempFolder();
  const { gateway, bootstrap } = openGateway({ folder: dir.path, upstream: noUpstream });
  const foreign = openGateway({ folder: dir.path, upstream: noUpstream }).bootstrap;
  expect(faultOf(() => gateway.writeBootstrapFile(foreign))).toBe("invalid_bootstrap");
  const fresh = gateway.authority.rotate(bootstrap);
  expect(faultOf(() => gateway.writeBootstrapFile(bootstrap))).toBe("invalid_bootstrap");
  expect(readdirSync(dir.path)).toEqual([]);

  const file = gateway.writeBootstrapFile(fresh);
  const before = file.exposePath((path) => readFileSync(path, "utf8"));
  const bearer = gateway.issue(fresh, "c", "interactive").exposeBearer((text) => text);
  const after = file.exposePath((path) => readFileSync(path, "utf8"));

  expect(after).toBe(before);
  expect(after).not.toContain(bearer.slice(2));
  expect(readdirSync(dir.path)).toHaveLength(1);
});

test("G011 G085 another gateway's file, text, 63 digits and upper case are an invalid bootstrap, told without a trace", async () => {
  await using dir = await tempFolder();
  const bootstrap = Bootstrap.draw("g");
  const authority = new BootstrapAuthority("g", bootstrap);
  const file = writeBootstrapFile(dir.path, bootstrap);
  const digits = bootstrap.exposeText((text) => text);
  useBootstrapFile(file, authority);

  expect(faultOf(() => useBootstrapFile(writeBootstrapFile(dir.path, Bootstrap.draw("h")), authority))).toBe(
    "invalid_bootstrap",
  );
  const canaries = ["canary", "", digits.slice(1), digits.toUpperCase(), `${digits}\n`, "0".repeat(64)];
  for (const content of canaries.filter((one) => one !== digits)) {
    file.exposePath((path) => writeFileSync(path, content));
    try {
      useBootstrapFile(file, authority);
      throw new Error(`accepted ${content.length}`);
    } catch (error) {
      expect(codeOf(error)).toBe("invalid_bootstrap");
      for (const secret of [digits, "canary", dir.path]) expect(String(error)).not.toContain(secret);
    }
  }
  file.exposePath((path) => writeFileSync(path, digits));
  useBootstrapFile(file, authority);
});

test("G093 a digest that changed during a rotation wins: the new file goes, one file is left", async () => {
  await using dir = await tempFolder();
  const bootstrap = Bootstrap.draw("g");
  const authority = new BootstrapAuthority("g", bootstrap);
  const file = writeBootstrapFile(dir.path, bootstrap);
  const before = readdirSync(dir.path);
  let draws = 0;
  const random = (n: number) => {
    if (++draws === 2) authority.replace(bootstrap, Bootstrap.draw("g")); // the other rotation, in between
    return crypto.getRandomValues(new Uint8Array(n));
  };

  expect(faultOf(() => rotateBootstrapFile(authority, { bootstrap, file }, { folder: dir.path, random }))).toBe(
    "invalid_bootstrap",
  );

  expect(readdirSync(dir.path)).toEqual(before);
});

test("G094 the old file is deleted while the old digest still holds and the new file is there", async () => {
  await using dir = await tempFolder();
  const bootstrap = Bootstrap.draw("g");
  const authority = new BootstrapAuthority("g", bootstrap);
  const file = writeBootstrapFile(dir.path, bootstrap);
  const oldPath = file.exposePath((path) => path);
  let held = "never asked";
  const remove = (path: string) => {
    expect(path).toBe(oldPath);
    expect(readdirSync(dir.path)).toHaveLength(2);
    held = faultOf(() => authority.check(bootstrap));
    Bun.spawnSync(["rm", path]);
  };

  const fresh = rotateBootstrapFile(authority, { bootstrap, file }, { folder: dir.path, remove });

  expect(held).toBe("none");
  expect(readdirSync(dir.path)).toHaveLength(1);
  expect(fresh.file.exposePath((path) => statSync(path).mode & 0o777)).toBe(0o600);
});
