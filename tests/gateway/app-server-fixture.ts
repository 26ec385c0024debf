// A gateway in front of `proctor standin app-server`: the program behind stdio, or behind a WebSocket on loopback.
import { existsSync, readFileSync } from "node:fs";
import { holdsWithin } from "../../src/base/clock.ts";
import { type ProcessGroup, startGroup } from "../../src/base/process-group.ts";
import { selfCommand } from "../../src/base/self.ts";
import { type GatewayOptions, openGateway } from "../../src/gateway/gateway.ts";
import { type OpenUpstream, stdioUpstream, webSocketUpstream } from "../../src/gateway/upstream.ts";

export const upstreams = ["stdio", "ws", "unix"] as const;

/** A listening gateway whose upstream is really another process; both end with the test. */
export async function standinGateway(
  folder: string,
  kind: (typeof upstreams)[number],
  more: Partial<GatewayOptions> = {},
) {
  const { upstream, group } = await startUpstream(folder, kind);
  const { gateway, bootstrap } = openGateway({ folder, clientHome: `${folder}/client`, upstream, ...more });
  const url = `ws://${(await gateway.listenTcp(0)).address}/`;
  return {
    gateway,
    bootstrap,
    url,
    [Symbol.asyncDispose]: async () => {
      await gateway.stop();
      await group?.stop();
    },
  };
}

async function startUpstream(
  folder: string,
  kind: (typeof upstreams)[number],
): Promise<{ upstream: OpenUpstream; group: ProcessGroup | null }> {
  const env = { PATH: "/usr/bin:/bin", HOME: folder };
  if (kind === "stdio") {
    const program = { ...selfCommand(["standin", "app-server"]), cwd: folder, env };
    return { upstream: stdioUpstream(program), group: null };
  }
  const portFile = `${folder}/port`;
  const socket = `${folder}/app.sock`;
  const words = kind === "ws" ? ["ws://127.0.0.1:0", "--port-file", portFile] : [`unix:${socket}`];
  const program = selfCommand(["standin", "app-server", "--listen", ...words]);
  const group = startGroup({ ...program, cwd: folder, env, stdin: "ignore", stdout: "pipe", stderr: "ignore" });
  const listening = await readReady(group);
  if (!listening) throw new Error("the app-server stand-in did not come up");
  if (kind === "unix") return { upstream: webSocketUpstream(`unix:${socket}`), group };
  const written = () => existsSync(portFile) && readFileSync(portFile, "utf8").endsWith("\n");
  if (!(await holdsWithin(written, { withinMs: 30_000, everyMs: 10 }))) throw new Error("no port");
  return { upstream: webSocketUpstream(`ws://127.0.0.1:${readFileSync(portFile, "utf8").trim()}`), group };
}

/** True once the program has said that it listens; false when it ended without. */
async function readReady(group: ProcessGroup): Promise<boolean> {
  let said = "";
  for await (const chunk of group.stdout!) {
    said += new TextDecoder().decode(chunk);
    if (said.includes("listening")) return true;
  }
  return false;
}
