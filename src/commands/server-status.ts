// `proctor server status`: does the server of this environment answer, and how busy is it?
import { httpRequest } from "../base/bounded-http.ts";
import { Failure } from "../base/failure.ts";
import { processEnvironment } from "../base/self.ts";
import type { ServerCode } from "../server/codes.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printResult } from "./result.ts";
import { bootstrapOf } from "./server-run.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "status",
    description: "Ask the running server of WEBCODEX_ADDR and WEBCODEX_TOKEN how it is.",
    examples: ["WEBCODEX_TOKEN=… proctor server status"],
  },
  args: { json: { type: "boolean", description: "Print the result as JSON." } },
  async run({ args }) {
    const environment = processEnvironment();
    const { parseAddress } = await import("../server/address.ts");
    const { host, port } = parseAddress(environment.WEBCODEX_ADDR ?? "127.0.0.1:8080");
    const url = `http://${host === "::1" ? "[::1]" : host}:${port}/metrics`;
    const figures = await bootstrapOf(environment).exposeText(async (token) => {
      try {
        const answer = await httpRequest({
          url,
          method: "GET",
          headers: { authorization: `Bearer ${token}` },
          timeoutMs: 5000,
          maxBytes: 65_536,
        });
        return answer.status === 200 ? new TextDecoder().decode(answer.body) : null;
      } catch {
        return null; // Every way of not answering is the same fact for the operator.
      }
    });
    if (figures === null) throw new Failure<ServerCode>("server_control_unreachable");
    const rows = figures.split("\n").filter((line) => line.startsWith("proctor_") && !line.includes("{"));
    const facts = Object.fromEntries(
      rows.map((line) => [line.split(" ")[0]!.slice("proctor_".length), Number(line.split(" ")[1])]),
    );
    printResult({ status: "ready", ...facts }, { json: args.json, text: () => ["ready", ...rows].join("\n") });
    return exitNumbers.done;
  },
});
