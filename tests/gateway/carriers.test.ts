// B18, B19 and B20 to their end: what a browser, a URL or a doubled header brings reaches neither the runtime nor any
// record, and the same credential without it is served.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { holdsWithin } from "../../src/base/clock.ts";
import { AuditLog } from "../../src/gateway/audit-log.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { playedCoordinator } from "./coordinator-fixture.ts";
import { rawProbe, upgradeHead } from "./gateway-fixture.ts";
import { probes } from "./upgrade-probes.ts";

test("B18 B19 B20 every such request is refused before the runtime is touched, and nothing of it is kept", async () => {
  await using dir = await tempFolder();
  let opened = 0;
  const audit = new AuditLog(`${dir.path}/audit.jsonl`);
  const upstream = () => {
    opened++;
    return Promise.reject(new Error("not for these"));
  };
  const { gateway, bootstrap } = openGateway({ folder: dir.path, upstream, audit });
  const bearer = gateway.issue(bootstrap, "one", "interactive").exposeBearer((text) => text);
  const { address, port } = await gateway.listenTcp(0);
  const chosen = probes.filter(([title]) => /\bB(?:18|19|20)\b/.test(title));
  expect(chosen.length).toBeGreaterThan(15);

  for (const [title, status, make] of chosen) {
    const answer = await rawProbe(port!, make(address, bearer));
    expect([title, Number(answer.slice(9, 12))]).toEqual([title, status]);
    for (const kept of [bearer, bearer.slice(4), "evil.example", "chrome-extension"])
      expect(answer).not.toContain(kept);
  }
  const good = await rawProbe(port!, upgradeHead({ host: address, bearer }));
  const closed = () => readFileSync(`${dir.path}/audit.jsonl`, "utf8").includes('"closed"');
  expect(await holdsWithin(closed, { withinMs: 20_000, everyMs: 5 })).toBe(true);

  expect([good.slice(9, 12), opened]).toEqual(["101", 0]);
  const kept = readFileSync(`${dir.path}/audit.jsonl`, "utf8");
  for (const text of [bearer.slice(4), "evil.example", "chrome-extension", "token="]) expect(kept).not.toContain(text);
  await gateway.stop();
  audit.close();
});

test("B19 a token in the first message is refused by its field and goes no further", async () => {
  const played = await playedCoordinator();
  const one = await played.client("one");

  one.send({ id: 1, method: "initialize", params: { token: "T" } });
  one.send({ id: 2, method: "model/list", params: { auth: { Bearer: "T" } } });

  expect(one.inbox.map((message) => [message.id, message.error.code])).toEqual([
    [1, -32030],
    [2, -32030],
  ]);
  expect(JSON.stringify([one.inbox, played.sent])).not.toContain('"T"');
});
