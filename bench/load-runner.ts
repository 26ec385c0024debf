// A Runner for load runs: registers one project and one running coding run, and answers no observation by itself, so
// that every long poll on the run waits until its time or the server ends it.
import { sha256Hex } from "../src/base/bytes.ts";

export const project = "agent:host:bench";
export const runId = "wc_agent_run_of_the_load_bench";

/** Connects to the server; `waiting` counts the observations it holds. */
export async function connectRunner(port: number, agentToken: string) {
  const held = new Set<string>();
  const url = `ws://127.0.0.1:${port}/api/agents/ws`;
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${agentToken}` } } as unknown as string[]);
  const registered = Promise.withResolvers<void>();
  socket.onopen = () => socket.send(JSON.stringify(registration()));
  socket.onmessage = (event) => {
    const message = JSON.parse(String(event.data)) as { type: string; request_id?: string };
    if (message.type === "registered") registered.resolve();
    if (message.type === "error") registered.reject(new Error(String(event.data)));
    if (message.type === "request") held.add(message.request_id!);
  };
  await registered.promise;
  return { waiting: () => held.size, close: () => socket.close() };
}

function registration() {
  const now = Math.floor(Date.now() / 1000);
  const run = {
    run_id: runId,
    intent_fingerprint: "intent",
    authority_fingerprint: `auth_${sha256Hex("webcodex-coding-agent-authority-v1\0bootstrap:server-bootstrap")}`,
    runtime_project_id: project,
    provider_id: "agent",
    provider_instance_id: "acp_1",
    state: "running",
    execution_state: "started",
    observation_revision: 3,
    created_at: now,
    updated_at: now,
  };
  return {
    type: "register",
    client_id: "host",
    agent_instance_id: "one",
    agent_protocol_generation: 2,
    capabilities: { coding_agent_runs: true },
    projects: [{ id: "bench", path: "/x", allow_patch: true, disabled: false }],
    coding_agent_providers: [{ provider_id: "agent", provider_instance_id: "acp_1", name: "Agent" }],
    coding_agent_inventory: { runs: [run] },
  };
}
