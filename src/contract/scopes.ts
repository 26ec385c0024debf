// The rights a credential can carry. No right implies another; only the bootstrap credential holds all.

/** Every scope the control plane knows. */
export const knownScopes = [
  "runtime:read",
  "runner:manage",
  "session:collaborate",
  "project:read",
  "project:write",
  "memory:read",
  "memory:manage",
  "communication:read",
  "communication:manage",
  "job:run",
  "job:detach",
  "browser:read",
  "browser:control",
  "browser:launch",
  "computer:read",
  "computer:control",
  "computer:launch",
  "computer:display_read",
  "computer:pointer_control",
  "computer:clipboard_read",
  "computer:clipboard_write",
  "mcp:local",
  "plugin:inspect",
  "plugin:invoke",
  "plugin:manage",
  "ssh:local",
  "coding_agent:run",
  "account:manage",
  "agent:register",
  "agent:poll",
  "agent:result",
  "agent:job_update",
  "admin",
] as const;

export type Scope = (typeof knownScopes)[number];

/** What an agent token holds when nothing narrower was asked for. */
export const agentScopes = ["agent:register", "agent:poll", "agent:result", "agent:job_update"] as const;

const known: ReadonlySet<string> = new Set(knownScopes);

export function isScope(text: string): text is Scope {
  return known.has(text);
}
