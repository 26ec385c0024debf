// The frames between server and runner: one JSON envelope a text message. Each end reads the other's strictly enough
// that a malformed frame is skipped and never half believed.
import { RunSnapshot } from "./runs.ts";
import { z } from "./schema.ts";

export const linkLimits = {
  maxMessageBytes: 8 * 1024 * 1024,
  registerWithinMs: 15_000,
  registeredWithinMs: 10_000,
  pingEveryMs: 30_000,
  maxProjects: 1024,
  maxProviders: 8,
  maxInventory: 128,
} as const;

export const Project = z.object({
  id: z.string().min(1).max(256),
  name: z.string().max(256).nullish(),
  path: z.string().min(1).max(4096),
  allow_patch: z.boolean(),
  disabled: z.boolean(),
  description: z.string().max(2048).nullish(),
  revision: z.string().max(128).nullish(),
});

export const Register = z.object({
  type: z.literal("register"),
  client_id: z.string().min(1).max(128),
  agent_instance_id: z.string().min(1).max(128),
  agent_protocol_generation: z.literal(2),
  owner: z.string().max(128).optional(),
  capabilities: z.record(z.string(), z.boolean()),
  projects: z.array(Project).max(linkLimits.maxProjects),
  coding_agent_providers: z
    .array(z.object({ provider_id: z.string(), provider_instance_id: z.string(), name: z.string() }))
    .max(linkLimits.maxProviders),
  coding_agent_inventory: z.object({ runs: z.array(RunSnapshot).max(linkLimits.maxInventory) }),
});
export type Register = z.infer<typeof Register>;

export const Result = z.looseObject({
  type: z.literal("result"),
  client_id: z.string(),
  agent_instance_id: z.string(),
  request_id: z.string().max(128),
});

export const Request = z.looseObject({
  type: z.literal("request"),
  request_id: z.string().min(1).max(128),
  kind: z.string().max(64),
});
export type LinkRequest = z.infer<typeof Request>;
