// list_projects: what connected Runners offer to this caller. Nobody connected is an empty list, not a fault.
import { z } from "../../contract/schema.ts";
import { visibleProjects } from "../runner-registry.ts";
import { defineTool, refuse, succeed } from "../tool.ts";

export const listProjects = defineTool({
  name: "list_projects",
  description: "List the projects of connected runners that the caller may use.",
  scopes: ["project:read"],
  visibility: "direct",
  annotations: { readOnlyHint: true },
  input: () =>
    z.strictObject({
      client_id: z.string().optional(),
      project: z.string().optional(),
      query: z.string().max(4096).optional(),
      compact: z.boolean().optional(),
      details: z.boolean().optional(),
      limit: z.int().min(1).max(1000).optional(),
    }),
  async run(context, args) {
    if (args.client_id === "") return refuse("invalid_client_id", "client_id is empty", { recovery_kind: "fix_input" });
    if (args.project === "") return refuse("invalid_project", "project is empty", { recovery_kind: "fix_input" });
    if (args.query === "") return refuse("invalid_query", "query is empty", { recovery_kind: "fix_input" });
    const all = visibleProjects(context.runners, context.principal);
    const matched = all.filter(
      (project) =>
        (args.client_id === undefined || project.clientId === args.client_id) &&
        (args.project === undefined || project.id === args.project || project.projectId === args.project) &&
        (args.query === undefined ||
          [project.id, project.path, project.name ?? ""].some((text) => text.includes(args.query!))),
    );
    const shown = matched.slice(0, args.limit ?? 1000);
    return succeed({
      count: shown.length,
      matched_count: matched.length,
      truncated: shown.length < matched.length,
      recommended_for_smoke: shown.filter((project) => !project.disabled).map((project) => project.id),
      projects: shown.map((project) => ({
        id: project.id,
        agent_project_id: project.projectId,
        name: project.name,
        path: project.path,
        executor: "agent",
        client_id: project.clientId,
        allow_patch: project.allowPatch,
        description: project.description,
        enabled: !project.disabled,
        disabled: project.disabled,
        revision: project.revision,
        active_jobs: 0,
        source: "runner",
        agent_status: "online",
        connected: true,
        last_seen: Math.floor((context.runners.runner(project.clientId)?.lastSeenMs ?? 0) / 1000),
        shell_profile: null,
        resolved_shell_profile: null,
        shell_profile_status: "not_offered",
        capabilities: context.runners.runner(project.clientId)?.capabilities ?? {},
      })),
    });
  },
});
