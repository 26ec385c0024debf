// The operator's words over the control socket, and a credential that only one child sees.
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { codeOf } from "../../src/base/failure.ts";
import { selfCommand } from "../../src/base/self.ts";
import { isVariableName } from "../../src/gateway/child.ts";
import { askGateway } from "../../src/gateway/control.ts";
import { serveGateway } from "../../src/gateway/serve.ts";
import { stdioUpstream } from "../../src/gateway/upstream.ts";
import { projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { readyClient } from "./gateway-fixture.ts";

test("G025 G032 G033 G087 G088 G090 the file alone issues, revokes and terminates, and nothing private stays", async () => {
  await using dir = await tempFolder();
  const folder = `${dir.path}/run`;
  const ready = Promise.withResolvers<readonly string[]>();
  const served = serveGateway({
    folder,
    upstream: stdioUpstream({
      command: process.execPath,
      args: [`${projectRoot}fixtures/programs/fake-app-server.ts`],
      cwd: dir.path,
      env: { PATH: "/usr/bin:/bin", HOME: dir.path },
    }),
    port: 0,
    forwardedPorts: [],
    allowedMethods: [],
    onReady: ready.resolve,
    stopAsked: new Promise(() => {}),
  });
  await ready.promise;

  const self = selfCommand(["gateway", "exec", "--runtime-dir", folder, "--client-id", "child", "--env", "TOK", "--"]);
  const child = Bun.spawn([self.command, ...self.args, "/usr/bin/env"], {
    env: { PATH: "/usr/bin:/bin", HOME: dir.path },
    stdout: "pipe",
  });
  expect(await new Response(child.stdout).text()).toMatch(/^TOK=child\.[0-9a-f]{64}$/m);
  expect(await child.exited).toBe(0);
  expect(await askGateway(folder, { op: "list" })).toEqual({ credentials: [] });
  const path = `${dir.path}/one.sock`;
  await askGateway(folder, { op: "issue", client_id: "tui", socket: path });
  const one = await readyClient(`ws+unix://${path}:/rpc`, null, { Host: "localhost" });
  await one.call("model/list");
  expect(await askGateway(folder, { op: "status" })).toMatchObject({
    health: "ready",
    clients: { tui: { observe: 1 } },
  });
  expect(await askGateway(folder, { op: "rotate_bootstrap" })).toEqual({ rotated: true });
  expect(await askGateway(folder, { op: "revoke", client_id: "tui" })).toEqual({ revoked: 1 });
  expect(await one.closed).toBe(1008);
  expect(await askGateway(folder, { op: "revoke", client_id: "tui" }).catch(codeOf)).toBe("credential_revoked");
  expect(await askGateway(folder, { op: "terminate" })).toEqual({ terminated: true });
  await served;
  expect(readdirSync(folder).filter((name) => !name.startsWith("audit-"))).toEqual(["gateway.lock"]);
});

test("isVariableName() refuses names that steer a runtime", () => {
  for (const name of ["", "1A", "A-B", "PATH", "HOME", "BUN_X", "NODE_OPTIONS", "LD_PRELOAD"])
    expect(isVariableName(name)).toBe(false);
  expect(isVariableName("TOK")).toBe(true);
});
