// Every command of the executable, loaded only when it is called. One line a command.
import type { StrictCommand } from "./strict-command.ts";

type Loader = () => Promise<{ readonly default: StrictCommand }>;

export const commandTable: Readonly<Record<string, Loader>> = {
  accept: () => import("./accept.ts"),
  "accept-worker": () => import("./accept-worker.ts"),
  relay: () => import("./relay.ts"),
  audit: () => import("./audit.ts"),
  "exec-child": () => import("./exec-child.ts"),
  "exec-noted": () => import("./exec-noted.ts"),
  hook: () => import("./hook.ts"),
  handoff: () => import("./handoff.ts"),
  recovery: () => import("./recovery.ts"),
  experience: () => import("./experience.ts"),
  gateway: () => import("./gateway.ts"),
  doctor: () => import("./doctor.ts"),
  self: () => import("./self.ts"),
  completions: () => import("./completions.ts"),
  calibrate: () => import("./calibrate.ts"),
  verify: () => import("./verify.ts"),
  report: () => import("./report.ts"),
  merge: () => import("./merge.ts"),
  server: () => import("./server.ts"),
  runner: () => import("./runner.ts"),
  shims: () => import("./shims.ts"),
  standin: () => import("./standin.ts"),
  version: () => import("./version.ts"),
};
