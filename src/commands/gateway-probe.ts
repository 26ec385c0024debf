// `proctor gateway probe`: attacks one loopback endpoint and reports; exit 1 when a door stood open.
import { Failure } from "../base/failure.ts";
import { processEnvironment } from "../base/self.ts";
import { printResult } from "./result.ts";
import { UsageError } from "./strict-args.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "probe",
    description: "Attack a loopback endpoint with the known ways into local agents",
    examples: ["proctor gateway probe --runtime-dir D", "proctor gateway probe ws://127.0.0.1:4500/"],
    notes: ["With --runtime-dir it attacks that gateway, with two credentials of its own, one of them revoked."],
  },
  args: {
    endpoint: { type: "positional", description: "ws://127.0.0.1:PORT/ or unix:PATH" },
    "runtime-dir": { type: "string", valueHint: "D", description: "The private folder of our own gateway" },
    "bearer-env": { type: "string", valueHint: "NAME", description: "Variable with a valid bearer, for more checks" },
    "revoked-env": { type: "string", valueHint: "NAME", description: "Variable with a bearer that was revoked" },
    only: { type: "string", repeatable: true, valueHint: "CHECK", description: "Run this check only" },
  },
  async run({ args }) {
    const { probeEndpoint } = await import("../gateway/probe.ts");
    const { probeOwn } = await import("../gateway/probe-own.ts");
    const { endpoint, only } = args;
    const folder = args["runtime-dir"];
    if (folder === undefined && endpoint === undefined)
      throw new UsageError("Give --runtime-dir D, or an endpoint: ws://127.0.0.1:PORT/ or unix:PATH.");
    const [bearer, revoked] = [bearerIn(args["bearer-env"]), bearerIn(args["revoked-env"])];
    const result =
      folder === undefined
        ? await probeEndpoint(endpoint!, {
            only,
            ...(bearer === undefined ? {} : { bearer }),
            ...(revoked === undefined ? {} : { revoked }),
          })
        : await probeOwn(folder, { only, ...(endpoint === undefined ? {} : { endpoint }) });
    printResult(result, { json: true });
    return result.passed ? 0 : 1;
  },
});

function bearerIn(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const bearer = processEnvironment()[name];
  if (!/^[!-~]{1,512}$/.test(bearer ?? "")) throw new Failure("environment_name_invalid");
  return bearer;
}
