// The operator's configuration of one conversation: exactly seven texts, private, outside the project it names.
import { Failure } from "../base/failure.ts";
import { isRecord, parseJson } from "../base/json.ts";
import type { HooksCode, OperatorFileCode } from "./codes.ts";
import { readPrivateText } from "./operator-files.ts";
import { canonicalFolder, isAbsolutePath, isInside, resolveLoose } from "./roots.ts";
import { requireServerOrigin } from "./server-address.ts";

const keys = [
  "server_url",
  "authorization_file",
  "project",
  "project_root",
  "workflow_session_id",
  "local_session_id",
  "state_dir",
] as const;

/** Raw spellings are kept: the association of pending reports is made of them. */
export interface HookConfig {
  readonly serverUrl: string;
  readonly authorizationFile: string;
  readonly project: string;
  readonly projectRoot: string;
  readonly workflowSessionId: string;
  readonly localSessionId: string;
  readonly stateDir: string;
}

/** Loads and checks the file; the first fault in the contract's order wins. */
export function loadConfig(path: string): HookConfig {
  const value = parseJson(readPrivateText(path));
  if (value === undefined) throw new Failure<OperatorFileCode>("operator_file_not_json");
  const config = shapeOf(value);
  const root = canonicalFolder(config.projectRoot, "canonical_project_root_required");
  for (const one of [path, config.authorizationFile, config.stateDir]) {
    if (!isAbsolutePath(one) || isInside(resolveLoose(one), root)) {
      throw new Failure<HooksCode>("configuration_and_state_must_be_outside_project");
    }
  }
  requireServerOrigin(config.serverUrl);
  return config;
}

function shapeOf(value: unknown): HookConfig {
  const invalid = () => new Failure<HooksCode>("invalid_config");
  if (!isRecord(value) || Object.keys(value).length !== keys.length) throw invalid();
  const read = (key: (typeof keys)[number]): string => {
    const text = value[key];
    if (typeof text !== "string" || text === "" || !text.isWellFormed()) throw invalid();
    return text;
  };
  return {
    serverUrl: read("server_url"),
    authorizationFile: read("authorization_file"),
    project: read("project"),
    projectRoot: read("project_root"),
    workflowSessionId: read("workflow_session_id"),
    localSessionId: read("local_session_id"),
    stateDir: read("state_dir"),
  };
}
