// A server of this process on any port, with users and calls, for tests of what it answers.
import { Secret } from "../../src/base/secret.ts";
import { noRunners } from "../../src/server/no-runners.ts";
import type { ConnectedRunner, RunnerLink } from "../../src/server/runner-registry.ts";
import { openServer, type ServerOptions } from "../../src/server/server.ts";
import { tempFolder } from "../support/temp-folder.ts";

export const bootstrapToken = "bootstrap-token-for-tests-only";

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by tests, which fail on anything else.
export type Answer = { status: number; headers: Headers; body: Record<string, any> };

export interface LocalServer extends AsyncDisposable {
  readonly url: string;
  post(path: string, body: unknown, more?: { token?: string; headers?: Record<string, string> }): Promise<Answer>;
  /** A user of this name and a token with these scopes. */
  token(username: string, scopes: readonly string[]): Promise<string>;
  /** The tool's answer over REST. */
  call(token: string, tool: string, params: unknown): Promise<Answer["body"]>;
  restart(): Promise<void>;
}

/** A link on which one Runner of `owner` offers these projects and answers nothing. */
export function offering(owner: string, projects: Readonly<Record<string, string>>): RunnerLink {
  const runner: ConnectedRunner = {
    clientId: "host",
    owner,
    instanceId: "one",
    capabilities: {},
    providers: [],
    projects: Object.entries(projects).map(([projectId, path]) => ({
      id: `agent:host:${projectId}`,
      clientId: "host",
      projectId,
      name: null,
      path,
      allowPatch: true,
      disabled: false,
      description: null,
      revision: null,
    })),
    registeredAtMs: 1,
    lastSeenMs: 1,
  };
  return { ...noRunners(), runners: () => [runner], runner: (id) => (id === "host" ? runner : null) };
}

export async function localServer(
  link: () => RunnerLink = noRunners,
  more: Partial<ServerOptions> = {},
): Promise<LocalServer> {
  const folder = await tempFolder();
  const open = () =>
    openServer({
      address: "127.0.0.1:0",
      dataFolder: `${folder.path}/data`,
      bootstrap: Secret.from(bootstrapToken),
      openLink: link,
      ...more,
    });
  let server = await open();
  const post: LocalServer["post"] = async (path, body, more = {}) => {
    const answer = await fetch(server.url + path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${more.token ?? bootstrapToken}`,
        "content-type": "application/json",
        ...more.headers,
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: text === "" ? {} : JSON.parse(text) };
  };
  return {
    get url() {
      return server.url;
    },
    post,
    async token(username, scopes) {
      await post("/api/users/create", { username });
      return (await post("/api/tokens/create", { username, scopes })).body.token;
    },
    call: async (token, tool, params) => (await post("/api/tools/call", { tool, params }, { token })).body,
    async restart() {
      await server.close();
      server = await open();
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}
