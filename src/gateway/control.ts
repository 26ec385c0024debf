// The private control socket: one request line with the bootstrap, one answer line. Answers carry codes, never texts
// of a request; a fresh bearer crosses it once, to the operator's own process.

import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { Failure } from "../base/failure.ts";
import { isRecord, parseJson } from "../base/json.ts";
import { Bootstrap } from "./bootstrap.ts";
import { type BootstrapFile, bootstrapName, readBootstrap, rotateBootstrapFile } from "./bootstrap-file.ts";
import { type GatewayCode, gatewayCodes } from "./codes.ts";
import type { Gateway } from "./gateway.ts";
import { gatewayLimits } from "./limits.ts";
import type { Preset } from "./permissions.ts";
import { controlSocketName, requireRuntimeFolder } from "./runtime-folder.ts";
import { listenUnix } from "./unix-listener.ts";

export interface Operator {
  readonly gateway: Gateway;
  readonly folder: string;
  bootstrap: Bootstrap;
  file: BootstrapFile;
  /** Addresses it listens on. */
  readonly addresses: readonly string[];
  readonly onTerminated: () => void;
}

/** Serves the control socket of `operator`; the result stops it. */
export async function serveControl(operator: Operator): Promise<() => void> {
  const listener = await listenUnix(join(operator.folder, controlSocketName), (socket) => {
    let text = "";
    const timer = setTimeout(() => socket.destroy(), gatewayLimits.controlMs);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => clearTimeout(timer));
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      if (text.length > gatewayLimits.maxControlBytes) socket.destroy();
      else if (text.endsWith("\n")) {
        clearTimeout(timer);
        void answer(operator, text).then((line) => socket.end(line));
        text = "";
      }
    });
  });
  return () => {
    listener.server.close();
    listener.remove();
  };
}

async function answer(operator: Operator, text: string): Promise<string> {
  try {
    const request = parseJson(text);
    if (!isRecord(request)) throw new Failure<GatewayCode>("gateway_request_invalid");
    const bootstrap = Bootstrap.fromText(operator.gateway.generation, String(request.bootstrap ?? ""));
    try {
      operator.gateway.authority.check(bootstrap);
      return `${JSON.stringify({ ok: await perform(operator, bootstrap, request) })}\n`;
    } finally {
      bootstrap.invalidate();
    }
  } catch (error) {
    const code = error instanceof Failure && Object.hasOwn(gatewayCodes, error.code) ? error.code : "internal";
    return `${JSON.stringify({ error: code })}\n`;
  }
}

async function perform(operator: Operator, bootstrap: Bootstrap, request: Record<string, unknown>): Promise<unknown> {
  const { gateway } = operator;
  const clientId = typeof request.client_id === "string" ? request.client_id : "";
  const credentialId = typeof request.credential === "string" ? request.credential : "";
  switch (request.op) {
    case "status":
      return status(operator);
    case "list":
      return { credentials: gateway.registry.list() };
    case "issue":
      return await issue(gateway, bootstrap, { clientId, preset: request.preset, socket: request.socket });
    case "revoke":
      return { revoked: await gateway.revokeNamed(bootstrap, { clientId, credentialId }) };
    case "rotate":
      return bearerOf(await gateway.rotateNamed(bootstrap, clientId));
    case "rotate_bootstrap": {
      const fresh = rotateBootstrapFile(gateway.authority, operator, { folder: operator.folder });
      Object.assign(operator, fresh);
      return { rotated: true };
    }
    case "terminate":
      await gateway.terminate(bootstrap);
      setTimeout(operator.onTerminated, 50);
      return { terminated: true };
    default:
      throw new Failure<GatewayCode>("gateway_request_invalid");
  }
}

function status({ gateway, addresses }: Operator): unknown {
  return {
    health: "ready",
    addresses,
    connections: gateway.connections(),
    clients: gateway.coordinator.counts(),
  };
}

interface Issue {
  readonly clientId: string;
  readonly preset: unknown;
  readonly socket: unknown;
}

async function issue(gateway: Gateway, bootstrap: Bootstrap, asked: Issue): Promise<unknown> {
  const preset: Preset = asked.preset === "observer" ? "observer" : "interactive";
  const credential = gateway.issue(bootstrap, asked.clientId, preset);
  if (typeof asked.socket !== "string") return bearerOf(credential);
  try {
    await gateway.listenForClient(credential, asked.socket);
  } catch (error) {
    await gateway.revoke(bootstrap, credential);
    throw error;
  }
  const { credentialId } = credential;
  credential.wipe();
  return { credential: credentialId, socket: asked.socket };
}

function bearerOf(credential: ReturnType<Gateway["issue"]>): unknown {
  const shown = { credential: credential.credentialId, bearer: credential.exposeBearer((bearer) => bearer) };
  credential.wipe();
  return shown;
}

/** One operator request to the gateway running over `folder`. */
export async function askGateway(folder: string, request: Record<string, unknown>): Promise<Record<string, unknown>> {
  requireRuntimeFolder(folder);
  const name = readdirSync(folder).find((entry) => bootstrapName.test(entry));
  if (name === undefined) throw new Failure<GatewayCode>("gateway_unreachable");
  const bootstrap = readBootstrap(join(folder, name), "");
  const line = bootstrap.exposeText((text) => `${JSON.stringify({ ...request, bootstrap: text })}\n`);
  bootstrap.invalidate();
  const answered = parseJson(await exchange(join(folder, controlSocketName), line));
  if (isRecord(answered) && isRecord(answered.ok)) return answered.ok;
  const code = isRecord(answered) && typeof answered.error === "string" ? answered.error : "gateway_unreachable";
  throw new Failure(Object.hasOwn(gatewayCodes, code) ? code : "gateway_unreachable");
}

async function exchange(path: string, line: string): Promise<string> {
  const done = Promise.withResolvers<string>();
  let text = "";
  const socket = connect({ path });
  const timer = setTimeout(() => socket.destroy(), gatewayLimits.controlMs);
  socket.on("connect", () => socket.write(line));
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("utf8");
    if (text.length > gatewayLimits.maxMessageBytes) socket.destroy();
  });
  socket.on("error", () => done.reject(new Failure<GatewayCode>("gateway_unreachable")));
  socket.on("close", () => done.resolve(text));
  try {
    return await done.promise;
  } finally {
    clearTimeout(timer);
  }
}
