// What the server knows about a root: exactly one Project, and that Project's Sessions. An incomplete list is no list.
import { decodeUtf8 } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { isRecord } from "../base/json.ts";
import type { HooksCode } from "./codes.ts";
import type { Asker } from "./handoff.ts";
import { hookLimits } from "./limits.ts";
import { ask, isSuccess, type Server } from "./operator-client.ts";
import { type ExactJson, parseExact } from "./python-json.ts";
import { workflowSessionPattern } from "./registry-file.ts";

export interface InventoryOptions {
  readonly timeoutMs?: () => number;
  readonly ask?: Asker;
}

/** The id of the one Project whose path is exactly `root`. */
export async function projectAt(server: Server, root: string, options: InventoryOptions = {}): Promise<string> {
  const answer = await post(
    server,
    { route: "projects", body: { query: root, limit: hookLimits.inventoryRows } },
    options,
  );
  const rows = answer.projects;
  if (answer.truncated !== false || !Array.isArray(rows)) throw new Failure<HooksCode>("project_inventory_incomplete");
  if (!rows.every(isRecord)) throw new Failure<HooksCode>("invalid_discovery_response");
  const exact = rows.filter((row) => row.path === root);
  const id = exact[0]?.id;
  if (exact.length !== 1 || typeof id !== "string" || !id.startsWith("agent:")) {
    throw new Failure<HooksCode>("project_identity_missing_or_ambiguous");
  }
  return id;
}

/** All Sessions of a Project as the server lists them, closed ones included. */
export async function sessionsOf(
  server: Server,
  project: string,
  options: InventoryOptions = {},
): Promise<Array<Record<string, ExactJson>>> {
  const body = { project, limit: hookLimits.inventoryRows };
  const answer = await post(server, { route: "workflow-sessions", body }, options);
  const rows = answer.sessions;
  if (answer.truncated !== false || !Array.isArray(rows)) throw new Failure<HooksCode>("session_inventory_incomplete");
  const valid = (row: unknown) =>
    isRecord(row) && typeof row.session_id === "string" && workflowSessionPattern.test(row.session_id);
  if (!rows.every(valid)) throw new Failure<HooksCode>("invalid_discovery_response");
  return rows as Array<Record<string, ExactJson>>;
}

async function post(
  server: Server,
  question: { readonly route: string; readonly body: ExactJson },
  options: InventoryOptions,
): Promise<Record<string, unknown>> {
  const answer = await (options.ask ?? ask)(server, {
    route: `/api/runtime-console/${question.route}`,
    body: question.body,
    timeoutMs: options.timeoutMs?.() ?? hookLimits.readDeadlineMs,
    tooLarge: "oversized_discovery_response",
  });
  if (!isSuccess(answer)) throw new Failure<HooksCode>("read_unconfirmed");
  const value = parseExact(decodeUtf8(answer.body) ?? "");
  if (value === undefined) throw new Failure<HooksCode>("read_unconfirmed");
  if (!isRecord(value)) throw new Failure<HooksCode>("invalid_discovery_response");
  return value;
}
