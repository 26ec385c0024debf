// A link on which one Runner of ann is connected and answers what a test lets it answer; by default nothing.
import { noRunners } from "../../src/server/no-runners.ts";
import type { ConnectedRunner, RunnerLink } from "../../src/server/runner-registry.ts";

export const project = "agent:host:fixture";

export function annsRunner(request?: RunnerLink["request"]): RunnerLink {
  const row = { id: project, clientId: "host", projectId: "fixture", name: null, path: "/x", allowPatch: true };
  const runner: ConnectedRunner = {
    clientId: "host",
    owner: "ann",
    instanceId: "one",
    capabilities: {},
    providers: [],
    projects: [{ ...row, disabled: false, description: null, revision: null }],
    registeredAtMs: 1,
    lastSeenMs: 1,
  };
  return {
    ...noRunners(),
    runners: () => [runner],
    runner: (id) => (id === "host" ? runner : null),
    ...(request === undefined ? {} : { request }),
  };
}
