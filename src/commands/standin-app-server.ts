// `proctor standin app-server`: speaks as `codex app-server` does, on stdio or as WebSocket frames, with scripted turns.
import { utf8 } from "../base/bytes.ts";
import { writeWhole } from "../base/output.ts";
import { createPrivateFile } from "../base/private-files.ts";
import { currentFolder } from "../base/self.ts";
import { printResult } from "./result.ts";
import { UsageError } from "./strict-args.ts";
import { defineStrictCommand } from "./strict-command.ts";

export default defineStrictCommand({
  meta: {
    name: "app-server",
    description: "A scripted app-server: threads, turns and approvals as `codex app-server` speaks them.",
    examples: ["proctor standin app-server", "proctor standin app-server --listen ws://127.0.0.1:0 --port-file F"],
    notes: [
      'A prompt with the word "approve" asks leave for a command and waits; one with "slow" waits for an interrupt.',
      "Threads are kept in memory only. No command is run and no file is written.",
    ],
  },
  args: {
    listen: {
      type: "string",
      valueHint: "stdio|ws://127.0.0.1:PORT|unix:PATH",
      description: "Where it is reached; port 0 takes a free one.",
      defaultText: "stdio",
    },
    "port-file": { type: "string", valueHint: "F", description: "New private file for the port." },
    speaks: {
      type: "string",
      choices: ["0.144.4", "0.171.0"],
      valueHint: "VERSION",
      description: "The Codex it speaks as.",
      defaultText: "0.144.4",
    },
    "codex-home": { type: "string", valueHint: "DIR", description: "The home that `initialize` answers." },
  },
  async run({ args }) {
    const { AppServer } = await import("../standins/app-server.ts");
    const { listenSockets, parseListen, serveLines } = await import("../standins/app-server-listen.ts");
    const at = parseListen(args.listen ?? "stdio");
    if (at === null) throw new UsageError("--listen takes stdio, ws://127.0.0.1:PORT or unix:PATH.");
    const portFile = args["port-file"];
    if (portFile !== undefined && at.kind !== "ws")
      throw new UsageError("--port-file needs --listen ws://127.0.0.1:PORT.");
    const folder = currentFolder();
    const server = new AppServer({
      version: args.speaks === "0.171.0" ? "0.171.0" : "0.144.4",
      codexHome: args["codex-home"] ?? folder,
      folder,
      platformOs: process.platform === "win32" ? "windows" : process.platform === "darwin" ? "macos" : "linux",
    });
    if (at.kind === "stdio") {
      await serveLines(server, { input: Bun.stdin.stream(), write: (text) => void writeWhole(1, text) });
      return 0;
    }
    const asked = new Promise<void>((stop) => {
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop());
    });
    await using listener = listenSockets(server, at);
    if (portFile !== undefined) createPrivateFile(portFile, utf8(`${listener.port}\n`));
    printResult({ listening: listener.address }, { json: true });
    await asked;
    return 0;
  },
});
