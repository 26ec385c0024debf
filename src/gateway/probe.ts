// Attacks a loopback endpoint with the known ways into local agent servers and says which door stood open. It only
// asks for upgrades and sends no message: read-only on whatever listens there. A socket's path is looked at as well.
import { lstatSync } from "node:fs";
import { connect } from "node:net";
import { dirname } from "node:path";
import { Failure } from "../base/failure.ts";
import { effectiveUserId } from "../base/self.ts";
import type { GatewayCode } from "./codes.ts";

export interface ProbeFinding {
  readonly check: string;
  readonly outcome: "refused" | "open" | "no_answer";
}

interface Target {
  readonly host: string;
  readonly port?: number;
  readonly path?: string;
}

/** `bearer` lets the checks show that the very credential is refused in a wrong carrier; without it none is sent. */
export async function probeEndpoint(
  address: string,
  bearer?: string,
): Promise<{ passed: boolean; checks: ProbeFinding[] }> {
  const target = targetOf(address);
  const checks: ProbeFinding[] = [];
  for (const [check, bytes] of attacks(target.host, bearer)) {
    const answer = await ask(target, bytes);
    const bounded = check === "oversized_head" || check === "endless_head";
    const open = answer.startsWith("HTTP/1.1 101") || (answer === "still open" && bounded);
    checks.push({ check, outcome: open ? "open" : answer === "" || answer === "still open" ? "no_answer" : "refused" });
  }
  if (target.path !== undefined) checks.push({ check: "socket_path", outcome: judgeSocketPath(target.path) });
  const reached = checks.some((one) => one.outcome !== "no_answer" && one.check !== "socket_path");
  if (!reached) throw new Failure<GatewayCode>("gateway_unreachable");
  return { passed: checks.every((one) => one.outcome !== "open"), checks };
}

function attacks(host: string, bearer: string | undefined): Array<readonly [string, string]> {
  const auth = bearer === undefined ? [] : [`Authorization: Bearer ${bearer}`];
  const token = bearer ?? `probe.${"0".repeat(64)}`;
  const head = (lines: readonly string[], options: { target?: string; host?: string; version?: string } = {}) =>
    `${[
      `GET ${options.target ?? "/"} HTTP/${options.version ?? "1.1"}`,
      `Host: ${options.host ?? host}`,
      "Upgrade: websocket",
      "Connection: Upgrade",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
      ...lines,
    ].join("\r\n")}\r\n\r\n`;
  return [
    ["no_credential", head([])],
    ["unknown_credential", head([`Authorization: Bearer probe.${"0".repeat(64)}`])],
    ["browser_origin", head([...auth, "Origin: https://evil.example"])],
    ["browser_origin_null", head([...auth, "Origin: null"])],
    ["dns_rebinding", head(auth, { host: "evil.example" })],
    ["query_token", head([], { target: `/?token=${token}` })],
    ["subprotocol_token", head([`Sec-WebSocket-Protocol: bearer, ${token}`])],
    ["cookie_token", head([`Cookie: token=${token}`])],
    ["duplicate_authorization", head([`Authorization: Bearer ${token}`, "Authorization: Bearer x"])],
    ["duplicate_host", head([...auth, `Host: ${host}`])],
    ["smuggling_content_length", head([...auth, "Content-Length: 4"])],
    ["smuggling_transfer_encoding", head([...auth, "Transfer-Encoding: chunked"])],
    ["absolute_target", head(auth, { target: `http://${host}/` })],
    ["self_declared_rights", head(["X-Supercode-Permissions: observe,terminate"])],
    ["old_protocol", head(auth, { version: "1.0" })],
    ["oversized_head", `${head([`X-Pad: ${"x".repeat(70_000)}`])}`],
    ["endless_head", `GET / HTTP/1.1\r\nHost: ${host}\r\nX-Pad: ${"x".repeat(70_000)}`],
    ["limiter_bypass", head(["X-Forwarded-For: 127.0.0.1", "X-Real-IP: 127.0.0.1", "Forwarded: for=127.0.0.1"])],
  ];
}

/** Open when another user could swap or reach the socket: a link, a shared folder, a wide mode. */
function judgeSocketPath(path: string): ProbeFinding["outcome"] {
  try {
    const socket = lstatSync(path);
    const folder = lstatSync(dirname(path));
    const own = socket.uid === effectiveUserId() && folder.uid === effectiveUserId();
    const tight = socket.isSocket() && (socket.mode & 0o077) === 0;
    return own && tight && folder.isDirectory() && (folder.mode & 0o077) === 0 ? "refused" : "open";
  } catch {
    return "no_answer"; // nothing is there
  }
}

function targetOf(address: string): Target {
  const port = /^ws:\/\/127\.0\.0\.1:([1-9][0-9]{0,4})\/?$/.exec(address)?.[1];
  if (port !== undefined && Number(port) < 65536) return { host: `127.0.0.1:${port}`, port: Number(port) };
  if (/^unix:\/[!-~]+$/.test(address)) return { host: "localhost", path: address.slice(5) };
  throw new Failure<GatewayCode>("probe_target_invalid");
}

async function ask(target: Target, bytes: string): Promise<string> {
  const done = Promise.withResolvers<string>();
  let text = "";
  const socket =
    target.path === undefined ? connect({ host: "127.0.0.1", port: target.port! }) : connect({ path: target.path });
  const timer = setTimeout(() => done.resolve(text || "still open"), 8000);
  socket.on("connect", () => socket.write(bytes));
  socket.on("data", (chunk: Buffer) => {
    text = `${text}${chunk.toString("latin1")}`.slice(0, 4096);
    if (text.includes("\r\n\r\n")) done.resolve(text);
  });
  socket.on("error", () => done.resolve(text));
  socket.on("close", () => done.resolve(text));
  try {
    return await done.promise;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
