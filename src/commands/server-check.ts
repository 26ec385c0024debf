// `proctor server check`: is the database sound? Reads everything, changes nothing.
import { currentFolder, processEnvironment } from "../base/self.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { printResult } from "./result.ts";
import { dataFolderOf } from "./server-run.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "check",
    description: "Check the data folder named by WEBCODEX_DATA.",
    examples: ["WEBCODEX_DATA=./data proctor server check --json"],
  },
  args: { json: { type: "boolean", description: "Print the result as JSON." } },
  async run({ args }) {
    const { checkData } = await import("../server/operator.ts");
    const report = checkData(dataFolderOf(processEnvironment(), currentFolder()));
    const text = () =>
      `${report.sound ? "sound" : "DAMAGED"}, schema ${report.schema}, ${Object.values(report.rows).reduce((sum, n) => sum + n, 0)} rows`;
    printResult(report, { json: args.json, text });
    return report.sound ? exitNumbers.done : exitNumbers.failed;
  },
});
