// `proctor standin model`: a scripted Responses endpoint on loopback, until a signal ends it.

import { utf8 } from "../base/bytes.ts";
import { createPrivateFile } from "../base/private-files.ts";
import { printResult, tell } from "./result.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "model",
    description: "A scripted Responses endpoint on loopback, good enough for the real Codex.",
    examples: ["proctor standin model --scenario acceptance-python --port-file F"],
    notes: [
      "A scenario is a built-in name (acceptance-python, acceptance-typescript) or a JSON file. It listens on a free port and says which.",
    ],
  },
  args: {
    scenario: { type: "string", required: true, valueHint: "NAME|FILE", description: "What it plays." },
    "port-file": { type: "string", valueHint: "F", description: "New private file for the port." },
    gate: { type: "string", valueHint: "F", description: "Gated turns wait for this file, at most 60 seconds." },
  },
  async run({ args }) {
    const { loadScenario } = await import("../standins/scenario.ts");
    const { openModel } = await import("../standins/model.ts");
    const { standinCodes } = await import("../standins/codes.ts");
    const verdict = loadScenario(args.scenario);
    if (!verdict.valid) {
      tell(`proctor: ${standinCodes.standin_scenario_invalid} It is at ${verdict.where}. [standin_scenario_invalid]`);
      return 1;
    }
    const asked = new Promise<void>((stop) => {
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop());
    });
    await using model = openModel({ scenario: verdict.scenario, gate: args.gate ?? null });
    const portFile = args["port-file"];
    if (portFile !== undefined) createPrivateFile(portFile, utf8(`${model.port}\n`));
    printResult({ port: model.port, base_url: `http://127.0.0.1:${model.port}/v1` }, { json: true });
    await asked;
    return 0;
  },
});
