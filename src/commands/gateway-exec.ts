// `proctor gateway exec`: one program with its own credential, revoked when the program has ended.
import { codeOf, Failure } from "../base/failure.ts";
import { Secret } from "../base/secret.ts";
import { currentFolder, processEnvironment } from "../base/self.ts";
import { exitNumbers } from "./exit-numbers.ts";
import { clientId, preset, runtimeDir } from "./gateway-words.ts";
import { tell } from "./result.ts";
import { sentenceOf } from "./sentences.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "exec",
    description: "Start a program with a credential in its environment only",
    examples: ["proctor gateway exec --runtime-dir D --client-id tui --env TOK -- codex --remote-auth-token-env TOK"],
  },
  args: {
    "runtime-dir": runtimeDir,
    "client-id": clientId,
    env: { type: "string", required: true, valueHint: "NAME", description: "Variable for the bearer" },
    preset,
  },
  rest: "required",
  async run({ args, rest }) {
    const { askGateway } = await import("../gateway/control.ts");
    const { isVariableName, runWithCredential } = await import("../gateway/child.ts");
    const folder = args["runtime-dir"];
    try {
      if (!isVariableName(args.env)) throw new Failure("environment_name_invalid");
      const asked = { op: "issue", client_id: args["client-id"], preset: args.preset ?? "interactive" };
      const { bearer, credential } = await askGateway(folder, asked);
      try {
        return await runWithCredential({
          command: rest,
          cwd: currentFolder(),
          environment: processEnvironment(),
          variable: args.env,
          bearer: Secret.from(String(bearer)),
        });
      } finally {
        await askGateway(folder, { op: "revoke", credential }).catch(() => {}); // the gateway may have stopped meanwhile
      }
    } catch (error) {
      const code = codeOf(error);
      tell(`proctor gateway exec: ${await sentenceOf(code)} [${code}]`);
      return exitNumbers.ownFault;
    }
  },
});
