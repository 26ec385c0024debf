// The registry, the bootstrap and its file: fail closed, one live channel, nothing printed.
import { expect, test } from "bun:test";
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { inspect } from "node:util";
import { codeOf } from "../../src/base/failure.ts";
import { Bootstrap, BootstrapAuthority } from "../../src/gateway/bootstrap.ts";
import { rotateBootstrapFile, useBootstrapFile, writeBootstrapFile } from "../../src/gateway/bootstrap-file.ts";
import { CredentialRegistry } from "../../src/gateway/credentials.ts";
import { Leases } from "../../src/gateway/lease.ts";
import { rightsOf } from "../../src/gateway/permissions.ts";
import { listenUnix } from "../../src/gateway/unix-listener.ts";
import { handClock } from "../support/hand-clock.ts";
import { tempFolder } from "../support/temp-folder.ts";

const observer = rightsOf("observer");
const registryOf = (random?: (n: number) => Uint8Array) =>
  new CredentialRegistry({ runtimeId: "r", generation: "g", ...(random === undefined ? {} : { random }) });
const faultOf = (act: () => unknown) => {
  try {
    act();
    return "none";
  } catch (error) {
    return codeOf(error);
  }
};

test("G012 client ids outside the form are refused before a secret is drawn", () => {
  let drawn = 0;
  const registry = registryOf((n) => new Uint8Array(n).fill(++drawn));
  for (const id of ["", "a".repeat(65), "a.b", "a b", "é"])
    expect(faultOf(() => registry.issue(id, observer))).toBe("invalid_client");
  expect(drawn).toBe(0);
  expect(registry.issue("a".repeat(64), observer).clientId).toHaveLength(64);
});

test("G013 G014 G016 G017 a failing or repeating random source fails closed", () => {
  const failing = registryOf(() => {
    throw new Error("no entropy");
  });
  expect(faultOf(() => failing.issue("a", observer))).toBe("random_source");
  expect(failing.size).toBe(0);
  let draw = 0;
  const repeating = registryOf((n) => new Uint8Array(n).fill(++draw < 3 ? 1 : 2));
  repeating.issue("a", observer);
  repeating.issue("b", observer);
  expect(draw).toBe(3);
  const stuck = registryOf((n) => new Uint8Array(n).fill(7));
  stuck.issue("a", observer);
  expect(faultOf(() => stuck.issue("b", observer))).toBe("credential_collision");
});

test("G001 G018 G019 G020 4096 bearers differ and have the form", () => {
  const registry = registryOf();
  const bearers = new Set(
    Array.from({ length: 4096 }, () => registry.issue("c", observer).exposeBearer((text) => text)),
  );
  expect(bearers.size).toBe(4096);
  for (const bearer of bearers) expect(bearer).toMatch(/^c\.[0-9a-f]{64}$/);
});

test("G041 G044 G045 G046 G047 G050 authentication tells digest, then id, then busy", () => {
  const registry = registryOf();
  const bearer = registry.issue("c", observer).exposeBearer((text) => text);
  const other = registry.issue("c", observer).exposeBearer((text) => text);
  const grant = registry.authenticate(bearer);
  expect(registry.authenticate(bearer)).toBe("busy");
  expect(registry.authenticate(bearer.replace("c.", "d."))).toBe("unauthorized");
  expect(registry.authenticate(bearer.replace("c.", "c.d."))).toBe("unauthenticated");
  expect(typeof registry.authenticate(other)).toBe("object");
  if (typeof grant === "object") grant.release();
  expect(typeof registry.authenticate(bearer)).toBe("object");
});

test("G029 G052 G053 G059 G061 revocation is once, wipes, and rotation rolls back", async () => {
  const registry = registryOf();
  const credential = registry.issue("c", observer);
  await registry.revoke(credential);
  expect(faultOf(() => credential.exposeBearer((text) => text))).toBe("secret_wiped");
  expect(await registry.revoke(credential).catch(codeOf)).toBe("credential_revoked");
  expect(await registryOf().revoke(registry.issue("d", observer)).catch(codeOf)).toBe("credential_revoked");
  await registry.revokeAll();
  expect(await registry.rotate(credential, "e", observer).catch(codeOf)).toBe("credential_revoked");
  expect(registry.size).toBe(0);
});

test("G026 G027 G028 G084 credentials, bootstraps and files print as redaction marks", async () => {
  await using dir = await tempFolder();
  const credential = registryOf().issue("c", observer);
  const bootstrap = Bootstrap.draw("g");
  const file = writeBootstrapFile(dir.path, bootstrap);
  const secrets = [credential.exposeBearer((text) => text.slice(2)), bootstrap.exposeText((text) => text), dir.path];
  for (const one of [credential, bootstrap, file])
    for (const printed of [inspect(one), JSON.stringify(one), String(one), Bun.inspect(one)]) {
      expect(printed).toContain("[redacted]");
      for (const secret of secrets) expect(printed).not.toContain(secret);
    }
});

test("G065 G067 G068 G069 G070 a bootstrap is one generation's, and rotation is all or nothing", () => {
  const first = Bootstrap.draw("g");
  const authority = new BootstrapAuthority("g", first);
  expect(faultOf(() => authority.check(Bootstrap.draw("g")))).toBe("invalid_bootstrap");
  expect(
    faultOf(() =>
      authority.check(
        Bootstrap.fromText(
          "h",
          first.exposeText((text) => text),
        ),
      ),
    ),
  ).toBe("invalid_bootstrap");
  const failing = () => {
    throw new Error("no entropy");
  };
  expect(faultOf(() => authority.rotate(first, failing))).toBe("random_source");
  expect(faultOf(() => authority.rotate(Bootstrap.draw("g")))).toBe("invalid_bootstrap");
  const second = authority.rotate(first);
  expect(faultOf(() => authority.check(first))).toBe("invalid_bootstrap");
  authority.check(second);
});

test("G073 G074 G075 G078 G081 G086 the bootstrap file is private, exact and verified", async () => {
  await using dir = await tempFolder();
  const bootstrap = Bootstrap.draw("g");
  const authority = new BootstrapAuthority("g", bootstrap);
  const folder = `${dir.path}/f`;
  mkdirSync(folder, { mode: 0o700 });
  symlinkSync(folder, `${dir.path}/link`);
  expect(faultOf(() => writeBootstrapFile(`${dir.path}/link`, bootstrap))).toBe("permission_denied");
  chmodSync(folder, 0o750);
  expect(faultOf(() => writeBootstrapFile(folder, bootstrap))).toBe("permission_denied");
  chmodSync(folder, 0o700);
  expect(
    faultOf(() => writeBootstrapFile(folder, bootstrap, { inspect: () => ({ isFile: true, mode: 0o644, uid: 0 }) })),
  ).toBe("permission_denied");
  expect(readdirSync(folder)).toEqual([]);
  const file = writeBootstrapFile(folder, bootstrap);
  const [name] = readdirSync(folder);
  expect(name).toMatch(/^bootstrap-[0-9a-f]{32}\.credential$/);
  expect(lstatSync(`${folder}/${name}`).mode & 0o777).toBe(0o600);
  expect(readFileSync(`${folder}/${name}`, "utf8")).toMatch(/^[0-9a-f]{64}$/);
  useBootstrapFile(file, authority);
  file.exposePath((path) => writeFileSync(path, "A".repeat(64)));
  expect(faultOf(() => useBootstrapFile(file, authority))).toBe("invalid_bootstrap");
  file.exposePath((path) => Bun.spawnSync(["rm", path]));
  expect(faultOf(() => useBootstrapFile(file, authority))).toBe("credential_file");
});

test("G091 G092 G095 G096 G097 G098 file rotation deletes the old file or changes nothing", async () => {
  await using dir = await tempFolder();
  const bootstrap = Bootstrap.draw("g");
  const authority = new BootstrapAuthority("g", bootstrap);
  const file = writeBootstrapFile(dir.path, bootstrap);
  const before = readdirSync(dir.path);
  const remove = () => {
    throw new Error("cannot delete");
  };
  expect(faultOf(() => rotateBootstrapFile(authority, { bootstrap, file }, { folder: dir.path, remove }))).toBe(
    "credential_file",
  );
  expect(readdirSync(dir.path)).toEqual(before);
  authority.check(bootstrap);

  const fresh = rotateBootstrapFile(authority, { bootstrap, file }, { folder: dir.path });

  expect(readdirSync(dir.path)).not.toEqual(before);
  expect(faultOf(() => authority.check(bootstrap))).toBe("invalid_bootstrap");
  file.remove();
  useBootstrapFile(fresh.file, authority);
  fresh.file.remove();
  expect(readdirSync(dir.path)).toEqual([]);
});

test("G112 G113 G117 G118 B24 a socket replaces nothing, is born 0600 and leaves only its own inode", async () => {
  await using dir = await tempFolder();
  writeFileSync(`${dir.path}/file`, "keep");
  symlinkSync("/nowhere", `${dir.path}/dangling`);
  const fault = (path: string) => listenUnix(path, () => {}).then(() => "none", codeOf);
  expect(await fault(`${dir.path}/file`)).toBe("endpoint_exists");
  expect(await fault(`${dir.path}/dangling`)).toBe("endpoint_exists");
  expect(readFileSync(`${dir.path}/file`, "utf8")).toBe("keep");
  expect(await fault(`${dir.path}/${"x".repeat(104)}`)).toBe("endpoint_invalid");
  mkdirSync(`${dir.path}/wide`, { mode: 0o755 });
  expect(await fault(`${dir.path}/wide/s`)).toBe("permission_denied");
  const listener = await listenUnix(`${dir.path}/s`, () => {});
  expect(lstatSync(`${dir.path}/s`).mode & 0o777).toBe(0o600);
  listener.server.close();
  listener.remove();
  expect(readdirSync(dir.path).sort()).toEqual(["dangling", "file", "wide"]);
});

test("G185 a lease ends with its time to live", () => {
  const clock = handClock();
  const leases = new Leases<string>({ clock, leaseMs: 100 });
  expect(leases.claim("t", "a")).toBe(true);
  clock.advance(99);
  expect(leases.claim("t", "b")).toBe(false);
  clock.advance(1);
  expect(leases.claim("t", "b")).toBe(true);
});
