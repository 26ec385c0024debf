// `proctor gateway probe`: attacks one loopback endpoint and reports; exit 1 when a door stood open.
import { Failure } from "../base/failure.ts";
import { processEnvironment } from "../base/self.ts";
import { printResult } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "probe",
    description: "Attack a loopback endpoint with the known ways into local agents",
    examples: ["proctor gateway probe ws://127.0.0.1:4500/"],
  },
  args: {
    endpoint: { type: "positional", required: true, description: "ws://127.0.0.1:PORT/ or unix:PATH" },
    "bearer-env": { type: "string", valueHint: "NAME", description: "Variable with a valid bearer, for more checks" },
  },
  async run({ args }) {
    const { probeEndpoint } = await import("../gateway/probe.ts");
    const bearer = args["bearer-env"] === undefined ? undefined : processEnvironment()[args["bearer-env"]];
    if (args["bearer-env"] !== undefined && !/^[!-~]{1,512}$/.test(bearer ?? ""))
      throw new Failure("environment_name_invalid");
    const result = await probeEndpoint(args.endpoint, bearer);
    printResult(result, { json: true });
    return result.passed ? 0 : 1;
  },
});
