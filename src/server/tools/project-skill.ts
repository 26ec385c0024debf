// write_project_skill: one Skill definition of a project, written by its Runner only where the file still is what the
// caller saw. The path is made from the name here; the caller gives none, so none leads elsewhere.
import { sha256Hex, utf8 } from "../../base/bytes.ts";
import { isRecord } from "../../base/json.ts";
import { z } from "../../contract/schema.ts";
import { serverLimits } from "../limits.ts";
import { type RunnerAnswer, visibleProject } from "../runner-registry.ts";
import { defineTool, refuse, succeed, type ToolResult } from "../tool.ts";

const digest = /^[0-9a-f]{64}$/;

export const writeProjectSkill = defineTool({
  name: "write_project_skill",
  description: "Write .agents/skills/<name>/SKILL.md of a project if it still has the expected digest, or is absent.",
  scopes: ["project:write"],
  visibility: "gateway",
  annotations: { destructiveHint: true, idempotentHint: false },
  input: () =>
    z
      .strictObject({
        project: z.string().min(1).max(512),
        name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/),
        text: z
          .string()
          .min(1)
          .refine((text) => text.isWellFormed() && utf8(text).length <= serverLimits.maxSkillBytes),
        expected_sha256: z.string().regex(digest).optional(),
        absent: z.literal(true).optional(),
      })
      .refine((args) => (args.expected_sha256 === undefined) !== (args.absent === undefined)),
  async run(context, args) {
    const project = visibleProject(context.runners, context.principal, args.project);
    if (project === null) return refuse("project_not_found", "No such project.", { recovery_kind: "reobserve" });
    const path = `.agents/skills/${args.name}/SKILL.md`;
    const before = args.absent === true ? { absent: true } : { expected_sha256: args.expected_sha256 };
    const answer = await context.runners.request(project.clientId, {
      kind: "file_write",
      timeoutMs: serverLimits.writeTimeoutMs,
      payload: { project: project.projectId, path, text: args.text, ...before },
    });
    return answerOf(answer, { project: project.id, path, sha256: sha256Hex(args.text) });
  },
});

function answerOf(
  answer: RunnerAnswer,
  wanted: { readonly project: string; readonly path: string; readonly sha256: string },
): ToolResult {
  if (answer.outcome === "offline")
    return refuse("agent_unavailable", "The runner is not connected; nothing was written.", { recovery_kind: "wait" });
  if (answer.outcome !== "answered") return uncertain();
  const { file, reason_code: reason, sha256 } = answer.result;
  if (isRecord(file) && file.sha256 === wanted.sha256) return succeed({ ...wanted, state_changed: true });
  if (reason === "conflict")
    return refuse("skill_conflict", "The definition is not what the caller saw; nothing was written.", {
      failure_kind: "conflict",
      recovery_kind: "reobserve",
      current_sha256: typeof sha256 === "string" && digest.test(sha256) ? sha256 : null,
    });
  if (typeof reason === "string" && refusals.has(reason))
    return refuse("skill_not_written", `The definition was not written: ${reason}.`, {
      reason_code: reason,
      recovery_kind: "user_action",
    });
  return uncertain();
}

/** Reasons for which a Runner has written nothing. */
const refusals: ReadonlySet<string> = new Set([
  "invalid_path",
  "sensitive_path",
  "not_found",
  "permission_denied",
  "range_too_large",
]);

/** The Runner may have written: a blind retry is not offered, the file says what happened. */
function uncertain(): ToolResult {
  return refuse("skill_write_uncertain", "Whether the definition was written is not known.", {
    state_changed: null,
    failure_kind: "outcome_unknown",
    recovery_kind: "reconcile",
    recovery: "Read the file and compare its digest before writing again.",
  });
}
