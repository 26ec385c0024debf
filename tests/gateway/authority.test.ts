// Credentials and bootstraps in memory: what is drawn, kept, wiped, handed over and refused, with the random source
// as an argument.
import { expect, test } from "bun:test";
import { unlinkSync } from "node:fs";
import { inspect } from "node:util";
import { codeOf } from "../../src/base/failure.ts";
import { readBearer } from "../../src/gateway/bearer.ts";
import { useBootstrapFile } from "../../src/gateway/bootstrap-file.ts";
import { type GatewayCode, gatewayCodes } from "../../src/gateway/codes.ts";
import { CredentialRegistry, type Grant } from "../../src/gateway/credentials.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { parseHead } from "../../src/gateway/head.ts";
import { ownerRights, rightsOf } from "../../src/gateway/permissions.ts";
import { judgeUpgrade } from "../../src/gateway/upgrade.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { client, fakeGateway, readyClient, upgradeHead } from "./gateway-fixture.ts";

const interactive = rightsOf("interactive");
const noUpstream = () => Promise.reject(new Error("no upstream here"));
const registryOf = (random?: (n: number) => Uint8Array) =>
  new CredentialRegistry({ runtimeId: "r", generation: "g", ...(random === undefined ? {} : { random }) });
const grantOf = (answer: Grant | string): Grant => {
  if (typeof answer === "string") throw new Error(answer);
  return answer;
};
const faultOf = (act: () => unknown) => {
  try {
    act();
    return "none";
  } catch (error) {
    return codeOf(error);
  }
};

test("G002 a generation is 16 random bytes, another for each gateway", () => {
  const asked: number[] = [];
  const random = (n: number) => {
    asked.push(n);
    return crypto.getRandomValues(new Uint8Array(n));
  };
  const first = openGateway({ folder: "/", upstream: noUpstream, random });
  const second = openGateway({ folder: "/", upstream: noUpstream, random });

  expect(first.gateway.generation).toMatch(/^[0-9a-f]{32}$/);
  expect(second.gateway.generation).not.toBe(first.gateway.generation);
  expect(asked).toEqual([16, 32, 16, 32]);
});

test("G072 a failing random source at start gives no gateway", () => {
  for (const failing of [1, 2]) {
    let draws = 0;
    const random = (n: number) => {
      if (++draws === failing) throw new Error("no entropy");
      return new Uint8Array(n);
    };
    expect(faultOf(() => openGateway({ folder: "/", upstream: noUpstream, random }))).toBe("random_source");
  }
});

test("G010 each of the seven credential faults is reached, and each has its own code and sentence", async () => {
  await using dir = await tempFolder();
  const { gateway, bootstrap } = openGateway({ folder: dir.path, upstream: noUpstream });
  const other = openGateway({ folder: dir.path, upstream: noUpstream });
  const credential = gateway.issue(bootstrap, "one", "observer");
  const file = gateway.writeBootstrapFile(bootstrap);
  const same = registryOf((n) => new Uint8Array(n).fill(1));
  same.issue("one", interactive);
  await gateway.revoke(bootstrap, credential);
  file.exposePath(unlinkSync);
  await using endpoint = await gateway.listenTcp(0);

  const faults = {
    random_source: faultOf(() => registryOf(() => new Uint8Array(31)).issue("one", interactive)),
    credential_collision: faultOf(() => same.issue("two", interactive)),
    credential_revoked: await gateway.revoke(bootstrap, credential).catch(codeOf),
    invalid_bootstrap: faultOf(() => gateway.issue(other.bootstrap, "one", "observer")),
    invalid_client: faultOf(() => gateway.issue(bootstrap, "no dots.", "observer")),
    credential_file: faultOf(() => useBootstrapFile(file, gateway.authority)),
    configuration_locked: faultOf(() => gateway.configure({ clientHome: "/late" })),
  };

  expect(Object.entries(faults).filter(([code, fault]) => code !== fault)).toEqual([]);
  const sentences = Object.keys(faults).map((code) => gatewayCodes[code as GatewayCode]);
  expect(new Set(sentences).size).toBe(7);
  expect(endpoint.health()).toBe("ready");
});

test("G015 G030 G031 drawn, held and presented secret bytes are wiped; the registry shows a part of a digest only", () => {
  const drawn: Uint8Array[] = [];
  const registry = registryOf((n) => {
    const bytes = crypto.getRandomValues(new Uint8Array(n));
    drawn.push(bytes);
    return bytes;
  });
  const credential = registry.issue("c", interactive);
  const bearer = credential.exposeBearer((text) => text);
  expect(drawn[0]!.every((byte) => byte === 0)).toBe(true);
  for (const shown of [inspect(registry, { depth: 9, showHidden: true }), JSON.stringify(registry.list())])
    expect(shown).not.toContain(bearer.slice(2));

  const watched: Uint8Array[] = [];
  expect(readBearer(bearer, (bytes) => watched.push(bytes))?.clientId).toBe("c");
  expect(watched.map((bytes) => bytes.length)).toEqual([32]);
  expect(watched[0]!.every((byte) => byte === 0)).toBe(true);

  credential.wipe();
  expect(faultOf(() => credential.exposeBearer((text) => text))).toBe("secret_wiped");
});

test("G021 G022 G023 G049 a grant carries the facts of its credential, the same after many connects", () => {
  const { gateway, bootstrap } = openGateway({ folder: "/", upstream: noUpstream });
  for (const [preset, rights] of [
    ["interactive", ["observe", "interact", "approve"]],
    ["observer", ["observe"]],
  ] as const) {
    const bearer = gateway.issue(bootstrap, "c", preset).exposeBearer((text) => text);
    for (let connect = 0; connect < 20; connect++) {
      const grant = grantOf(gateway.registry.authenticate(bearer));
      expect([grant.clientId, grant.runtimeId, grant.generation]).toEqual(["c", "proctor-gateway", gateway.generation]);
      expect([...grant.rights]).toEqual([...rights]);
      grant.release();
    }
  }
  const mutable = new Set(["observe"] as const) as Set<"observe" | "terminate">;
  const registry = registryOf();
  const bearer = registry.issue("c", mutable).exposeBearer((text) => text);
  mutable.add("terminate");
  const grant = grantOf(registry.authenticate(bearer));
  expect([...grant.rights]).toEqual(["observe"]);
  let told = 0;
  grant.onRevoked = () => {
    told++;
    grant.release();
  };
  void registry.revokeAll();
  expect(told).toBe(1);
});

test("G054 G056 a record is gone before its channel is told; without a channel nothing is waited for", async () => {
  const registry = registryOf();
  const credential = registry.issue("c", interactive);
  const bearer = credential.exposeBearer((text) => text);
  const grant = grantOf(registry.authenticate(bearer));
  const order: unknown[] = [];
  grant.onRevoked = () => {
    order.push(registry.authenticate(bearer));
    queueMicrotask(() => {
      order.push("released");
      grant.release();
    });
  };
  await registry.revoke(credential);
  order.push("answered");
  expect(order).toEqual(["unauthenticated", "released", "answered"]);

  await registry.revoke(registry.issue("idle", interactive)); // nobody would release it
  expect(registry.size).toBe(0);
});

test("G051 G064 revoking, rotating and terminating need this gateway's bootstrap", async () => {
  const { gateway, bootstrap } = openGateway({ folder: "/", upstream: noUpstream });
  const foreign = openGateway({ folder: "/", upstream: noUpstream }).bootstrap;
  const credential = gateway.issue(bootstrap, "c", "interactive");

  expect(faultOf(() => gateway.issue(foreign, "d", "observer"))).toBe("invalid_bootstrap");
  expect(await gateway.revoke(foreign, credential).catch(codeOf)).toBe("invalid_bootstrap");
  expect(await gateway.revokeNamed(foreign, { clientId: "c" }).catch(codeOf)).toBe("invalid_bootstrap");
  expect(await gateway.rotate(foreign, credential, "c").catch(codeOf)).toBe("invalid_bootstrap");
  expect(await gateway.rotateNamed(foreign, "c").catch(codeOf)).toBe("invalid_bootstrap");
  expect(await gateway.terminate(foreign).catch(codeOf)).toBe("invalid_bootstrap");
  expect(gateway.registry.list()).toHaveLength(1);
});

test("G066 the bootstrap's own digits are nobody's bearer", () => {
  const { gateway, bootstrap } = openGateway({ folder: "/", upstream: noUpstream });
  gateway.issue(bootstrap, "c", "interactive");
  const digits = bootstrap.exposeText((text) => text);
  for (const id of ["c", "bootstrap", "proctor-operator", ""])
    expect(gateway.registry.authenticate(`${id}.${digits}`)).toBe("unauthenticated");
});

test("G071 a live client goes on working across a rotation of the bootstrap", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path);
  const { gateway, bootstrap } = opened;
  const url = `ws://${(await gateway.listenTcp(0)).address}/`;
  const one = await readyClient(url, gateway.issue(bootstrap, "one", "interactive"));
  const fresh = gateway.authority.rotate(bootstrap);

  expect((await one.call("model/list")).result.method).toBe("model/list");
  expect(faultOf(() => gateway.issue(bootstrap, "two", "observer"))).toBe("invalid_bootstrap");
  gateway.issue(fresh, "two", "observer");
  await one.close();
});

test("G048 of many simultaneous connects with one credential exactly one wins", async () => {
  await using dir = await tempFolder();
  await using opened = fakeGateway(dir.path);
  const { gateway, bootstrap } = opened;
  const url = `ws://${(await gateway.listenTcp(0)).address}/`;
  const credential = gateway.issue(bootstrap, "one", "interactive");

  const tries = await Promise.allSettled(Array.from({ length: 12 }, () => client(url, credential)));

  const winners = tries.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  expect(winners).toHaveLength(1);
  await winners[0]!.close();
});

const rule = { kind: "unix" } as const;
const headOf = (bearer: string, extra: string[] = []) => {
  const head = parseHead(Buffer.from(upgradeHead({ host: "localhost", bearer, extra })));
  if (head === null || head === "malformed") throw new Error("bad head");
  return head;
};

test("G160 G161 G162 G163 narrowing gives the common part, never more, for one connection", () => {
  const registry = registryOf();
  const keeper = { generation: "g", authenticate: (bearer: string | null) => registry.authenticate(bearer ?? "") };
  const rightsWith = (bearer: string, extra: string[] = []) => {
    const verdict = judgeUpgrade(headOf(bearer, extra), rule, keeper);
    if (!verdict.admit) throw new Error(verdict.why);
    verdict.grant.release();
    return [...verdict.rights].sort();
  };
  const owner = registry.issue("o", ownerRights).exposeBearer((text) => text);
  const plain = registry.issue("p", interactive).exposeBearer((text) => text);
  const asked = ["X-Supercode-Permissions: observe, terminate"];

  expect(rightsWith(owner)).toEqual(["approve", "interact", "observe", "terminate"]);
  expect(rightsWith(owner, asked)).toEqual(["observe", "terminate"]);
  expect(rightsWith(owner)).toContain("terminate");
  expect(rightsWith(plain, asked)).toEqual(["observe"]);
  expect(rightsWith(plain)).toEqual(["approve", "interact", "observe"]);
});

test("G190 a grant of another generation is refused and its channel given back", () => {
  const registry = registryOf();
  const bearer = registry.issue("c", interactive).exposeBearer((text) => text);
  const authenticate = (given: string | null) => registry.authenticate(given ?? "");

  expect(judgeUpgrade(headOf(bearer), rule, { generation: "other", authenticate })).toEqual({
    admit: false,
    why: "unauthenticated",
  });
  expect(judgeUpgrade(headOf(bearer), rule, { generation: "g", authenticate }).admit).toBe(true);
  const other = registryOf();
  expect(other.authenticate(bearer)).toBe("unauthenticated");
});
