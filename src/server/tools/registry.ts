// Every tool of the server, one family a line. A model sees the direct ones; REST reaches all.
import type { Tool } from "../tool.ts";
import { agentTaskTools } from "./agent-tasks.ts";
import { agentTools } from "./agents.ts";
import { codingAgentTools } from "./coding-agents.ts";
import { codingRunTools } from "./coding-runs.ts";
import { goalTools } from "./goals.ts";
import { handoffTools } from "./handoff.ts";
import { listProjects } from "./list-projects.ts";
import { listSessions } from "./list-sessions.ts";
import { memoryTools } from "./memories.ts";
import { observationTools } from "./observations.ts";
import { writeProjectSkill } from "./project-skill.ts";
import { readFiles } from "./read-files.ts";
import { listToolReceipts } from "./receipts.ts";
import { sessionTools } from "./sessions.ts";
import { taskAttemptTools } from "./task-attempts.ts";

export const allTools: readonly Tool[] = [
  listProjects,
  readFiles,
  listToolReceipts,
  listSessions,
  ...sessionTools,
  ...observationTools,
  ...handoffTools,
  ...goalTools,
  ...agentTools,
  ...agentTaskTools,
  ...taskAttemptTools,
  ...codingRunTools,
  ...codingAgentTools,
  ...memoryTools,
  writeProjectSkill,
];

const byName = new Map(allTools.map((tool) => [tool.name, tool]));

export function findTool(name: string): Tool | undefined {
  return byName.get(name);
}
