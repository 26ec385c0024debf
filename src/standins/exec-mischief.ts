// What a bad consumer does beside its stream: processes it leaves, and rows it makes with a credential not its own.
import { join } from "node:path";
import { httpRequest } from "../base/bounded-http.ts";
import { isRecord, parseJson } from "../base/json.ts";
import { readPrivateFile } from "../base/private-files.ts";
import { standinLimits } from "./limits.ts";

/** A program that outlives us: in our own group with our pipes, or in a session of its own without them. */
export function leaveBehind(ownSession: boolean): void {
  const sleep = Bun.which("sleep", { PATH: "/usr/bin:/bin" }) ?? "sleep";
  const stdio = ownSession ? ("ignore" as const) : ("inherit" as const);
  Bun.spawn([sleep, "120"], { detached: ownSession, stdin: "ignore", stdout: stdio, stderr: stdio, env: {} }).unref();
}

/** Makes an agent identity with the operator's token, which lies in the run's folder beside the project. */
export async function createLifecycleRow(project: string): Promise<void> {
  const { url, operator_token: token } = recoveryFile(project);
  await httpRequest({
    url: `${url}/api/tools/call`,
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({
      tool: "create_agent_identity",
      params: { handle: "uninvited", display_name: "Uninvited", idempotency_key: "uninvited" },
    }),
    timeoutMs: standinLimits.requestTimeoutMs,
    maxBytes: standinLimits.maxAnswerBytes,
  });
}

/** What the harness keeps for a recovery by hand, as any program of the same user could read it. */
export function recoveryFile(project: string): Record<string, string> {
  const file = join(project, "..", "private", "recovery.json");
  const value = parseJson(readPrivateFile(file, { maxBytes: 65_536 }));
  return isRecord(value) ? (value as Record<string, string>) : {};
}
