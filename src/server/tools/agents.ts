// Durable agent identities: made once per key, listed to their owner only.
import { newId } from "../../contract/ids.ts";
import { z } from "../../contract/schema.ts";
import { lookUpKey, rememberKey } from "../idempotency.ts";
import { type AgentRow, agentOf, agentWire } from "../tasks.ts";
import { defineTool, refuse, succeed } from "../tool.ts";

const maxAgents = 4096;

const createAgentIdentity = defineTool({
  name: "create_agent_identity",
  description: "Create a durable agent identity.",
  scopes: ["communication:read", "communication:manage"],
  visibility: "gateway",
  input: () =>
    z.strictObject({
      handle: z.string().trim().min(1).max(64),
      display_name: z.string().trim().min(1).max(128),
      description: z.string().max(2048).default(""),
      specialty_labels: z.array(z.string().min(1).max(64)).max(16).default([]),
      idempotency_key: z.string().trim().min(1).max(128),
    }),
  async run(context, args) {
    const { owner } = context.principal;
    const { idempotency_key: key, ...request } = args;
    const keyed = { owner, operation: "create_agent_identity", key, request };
    return context.store.write((db) => {
      const seen = lookUpKey(db, keyed);
      if (seen.seen === "conflict")
        return refuse("communication_idempotency_conflict", "The key was used for another request.", {
          recovery_kind: "reobserve",
        });
      if (seen.seen === "replay") {
        const agent = agentWire(agentOf(db, owner, seen.resource)!);
        return succeed({ agent, created: false, replayed: true, state_changed: false });
      }
      const count = db.query<{ n: number }, []>("SELECT count(*) AS n FROM agent_identities").get()?.n ?? 0;
      if (count >= maxAgents) return refuse("agent_limit_reached", "No more agents can be made.");
      const agentId = newId("agent", context.random);
      const wallMs = context.clock.wallMs();
      db.query("INSERT INTO agent_identities VALUES (?, ?, ?, ?, ?, ?, ?)").run(
        agentId,
        owner,
        args.handle,
        args.display_name,
        args.description,
        JSON.stringify(args.specialty_labels),
        wallMs,
      );
      rememberKey(db, keyed, { resource: agentId, wallMs });
      const agent = agentWire(agentOf(db, owner, agentId)!);
      return succeed({ agent, created: true, replayed: false, state_changed: true });
    });
  },
});

const listAgentIdentities = defineTool({
  name: "list_agent_identities",
  description: "List the caller's agent identities.",
  scopes: ["communication:read"],
  visibility: "gateway",
  annotations: { readOnlyHint: true },
  input: () => z.strictObject({ offset: z.int().min(0).default(0), limit: z.int().min(1).max(100).default(50) }),
  async run(context, args) {
    const { owner } = context.principal;
    return context.store.read((db) => {
      const total = db
        .query<{ n: number }, [string]>("SELECT count(*) AS n FROM agent_identities WHERE owner = ?")
        .get(owner)!.n;
      const rows = db
        .query<AgentRow, [string, number, number]>(
          "SELECT * FROM agent_identities WHERE owner = ? ORDER BY created_at_unix_ms, agent_id LIMIT ? OFFSET ?",
        )
        .all(owner, args.limit, args.offset);
      const end = args.offset + rows.length;
      return succeed({
        total_count: total,
        offset: args.offset,
        next_offset: end < total ? end : null,
        truncated: end < total,
        agents: rows.map(agentWire),
      });
    });
  },
});

export const agentTools = [createAgentIdentity, listAgentIdentities] as const;
