// A server process of its own over one data folder, for tests that end it in every way a process can end.
import { holdsWithin } from "../../src/base/clock.ts";
import { type ProcessGroup, startGroup } from "../../src/base/process-group.ts";
import { selfCommand } from "../../src/base/self.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by tests, which fail on anything else.
export type Json = Record<string, any>;
export const bootstrap = "bootstrap-token-for-tests-0123456789";

/** The environment of a server over `folder`/data. */
export function serverEnvironment(folder: string, port: number): Record<string, string> {
  return {
    HOME: folder,
    PATH: "/usr/bin:/bin",
    WEBCODEX_ADDR: `127.0.0.1:${port}`,
    WEBCODEX_DATA: `${folder}/data`,
    WEBCODEX_TOKEN: bootstrap,
  };
}

/** Starts `proctor server` on any port and waits until it says which. */
export async function serve(
  folder: string,
  words: readonly string[] = [],
): Promise<{ group: ProcessGroup; url: string }> {
  const { command, args } = selfCommand(["server", ...words]);
  const group = startGroup({ command, args, cwd: folder, env: serverEnvironment(folder, 0), stderr: "pipe" });
  let log = "";
  void (async () => {
    const decoder = new TextDecoder();
    for await (const part of group.stderr!) log += decoder.decode(part, { stream: true });
  })();
  const port = () => /listening\b[^\n]*?port[^0-9\n]*([0-9]+)/.exec(log)?.[1];
  if (
    !(await holdsWithin(() => port() !== undefined || !group.running(), { withinMs: 60_000 })) ||
    port() === undefined
  )
    throw new Error(`the server did not start: ${log}`);
  return { group, url: `http://127.0.0.1:${port()}` };
}

export async function post(url: string, body: unknown, token = bootstrap): Promise<Json> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as Json;
}
