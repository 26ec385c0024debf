// Durable agent identities: made once per key, listed to their owner only.
import { newId } from "../../contract/ids.ts";
import { z } from "../../contract/schema.ts";
import { makeOnce } from "../keyed.ts";
import { serverLimits } from "../limits.ts";
import { pageAnswer, pageOf } from "../row-page.ts";
import { type AgentRow, agentOf, agentWire } from "../tasks.ts";
import { defineTool, refuse, succeed } from "../tool.ts";

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
    const wallMs = context.clock.wallMs();
    return context.store.write((db) =>
      makeOnce(db, keyed, {
        wallMs,
        make() {
          const count = db.query<{ n: number }, []>("SELECT count(*) AS n FROM agent_identities").get()?.n ?? 0;
          if (count >= serverLimits.maxAgents) return refuse("agent_limit_reached", "No more agents can be made.");
          const agentId = newId("agent", context.random);
          db.query("INSERT INTO agent_identities VALUES (?, ?, ?, ?, ?, ?, ?)").run(
            agentId,
            owner,
            args.handle,
            args.display_name,
            args.description,
            JSON.stringify(args.specialty_labels),
            wallMs,
          );
          return agentId;
        },
        show(agentId, replayed) {
          const agent = agentWire(agentOf(db, owner, agentId)!);
          return succeed({ agent, created: !replayed, replayed, state_changed: !replayed });
        },
      }),
    );
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
      const from = "FROM agent_identities WHERE owner = ?1";
      const page = pageOf<AgentRow>(db, { from, order: "created_at_unix_ms, agent_id", bound: [owner], ...args });
      return pageAnswer(page, "agents", agentWire);
    });
  },
});

export const agentTools = [createAgentIdentity, listAgentIdentities] as const;
