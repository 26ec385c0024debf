// `proctor gateway serve`: runs the gateway until SIGTERM, SIGINT or `gateway terminate`.
import { resolve } from "node:path";
import { pickEnvironment } from "../base/environment.ts";
import { currentFolder, processEnvironment } from "../base/self.ts";
import { printResult } from "./result.ts";
import { UsageError } from "./strict-args.ts";
import { defineStrictCommand } from "./strict-command.ts";

const childNames = [
  "PATH",
  "HOME",
  "USER",
  "LANG",
  "LC_ALL",
  "TZ",
  "TMPDIR",
  "CODEX_HOME",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
];

export default defineStrictCommand({
  meta: {
    name: "serve",
    description: "Serve one app-server to many clients, each with its own credential",
    examples: ["proctor gateway serve --runtime-dir D -- codex app-server"],
  },
  args: {
    "runtime-dir": { type: "string", required: true, valueHint: "D", description: "Private folder, 0700" },
    upstream: { type: "string", valueHint: "stdio|unix:PATH|ws://127.0.0.1:PORT", description: "The app-server" },
    port: { type: "string", valueHint: "N", description: "Port on 127.0.0.1", defaultText: "0" },
    socket: { type: "string", valueHint: "PATH", description: "Also listen on this Unix socket" },
    "client-home": { type: "string", valueHint: "DIR", description: "The home `initialize` returns" },
    "forwarded-port": { type: "string", repeatable: true, valueHint: "N", description: "A port forwarded to ours" },
    "allow-method": { type: "string", repeatable: true, valueHint: "M", description: "Let an unlisted method pass" },
  },
  rest: "optional",
  async run({ args, rest }) {
    const { serveGateway } = await import("../gateway/serve.ts");
    const { stdioUpstream, upstreamUrl, webSocketUpstream } = await import("../gateway/upstream.ts");
    const [command, ...words] = rest;
    const stdio = (args.upstream ?? "stdio") === "stdio";
    if (stdio !== (command !== undefined)) {
      const forms = "--upstream unix:PATH or ws://127.0.0.1:PORT";
      throw new UsageError(`Give the app-server's command after \`--\`, or ${forms}, not both.`);
    }
    if (!stdio) checkUpstream(() => upstreamUrl(args.upstream!));
    const port = portOf("--port", args.port ?? "0");
    const forwardedPorts = args["forwarded-port"].map((text) => portOf("--forwarded-port", text));
    const env = pickEnvironment(processEnvironment(), childNames);
    const stopAsked = Promise.withResolvers<void>();
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stopAsked.resolve());
    await serveGateway({
      folder: resolve(args["runtime-dir"]),
      upstream: stdio
        ? stdioUpstream({ command: command!, args: words, cwd: currentFolder(), env })
        : webSocketUpstream(args.upstream!),
      port,
      ...(args.socket === undefined ? {} : { socketPath: resolve(args.socket) }),
      clientHome: resolve(args["client-home"] ?? currentFolder()),
      forwardedPorts,
      allowedMethods: args["allow-method"],
      onReady: (addresses) => printResult({ ready: true, addresses }, { json: true }),
      stopAsked: stopAsked.promise,
    });
    return 0;
  },
});

function checkUpstream(read: () => string): void {
  try {
    read();
  } catch {
    // The room has one refusal for an address, and that is about this flag.
    throw new UsageError("--upstream takes stdio, unix:PATH or ws://127.0.0.1:PORT.");
  }
}

function portOf(flag: string, text: string): number {
  if (!/^(?:0|[1-9][0-9]{0,4})$/.test(text) || Number(text) > 65535)
    throw new UsageError(`${flag} takes a number from 0 to 65535.`);
  return Number(text);
}
