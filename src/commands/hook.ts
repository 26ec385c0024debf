// `proctor hook observe|recover|config|doctor`: the two hooks, their ready-to-paste configuration, and why one of
// them does not work. Nothing here installs a hook or touches trust.
import { resolve } from "node:path";
import { currentFolder, executablePath, processEnvironment } from "../base/self.ts";
import { printResult, printText } from "./result.ts";
import { UsageError } from "./strict-args.ts";
import { defineStrictCommand } from "./strict-command.ts";

const observe = defineStrictCommand({
  meta: {
    name: "hook observe",
    description: "Save the report of one tool call (a PostToolUse payload on stdin), then deliver.",
    examples: ["proctor hook observe --config /home/me/.webcodex/observe.json --deliver background"],
  },
  args: {
    config: { type: "string", required: true, valueHint: "FILE", description: "Private configuration." },
    flush: { type: "boolean", description: "Read no payload, only deliver what is pending." },
    deliver: { type: "string", choices: ["inline", "background"], description: "When to deliver." },
    json: { type: "boolean", description: "Print the result on stdout instead of stderr." },
  },
  async run({ args }) {
    const { hookEntry } = await import("../hooks/entry.ts");
    const words = ["observe", "--config", args.config];
    if (args.flush) words.push("--flush");
    if (args.json) words.push("--json");
    if (args.deliver !== undefined) words.push("--deliver", args.deliver);
    return await hookEntry(words);
  },
});

const recover = defineStrictCommand({
  meta: {
    name: "hook recover",
    description: "Answer a SessionStart or UserPromptSubmit payload with the saved state of the associated work.",
    examples: ["proctor hook recover --registry /home/me/.webcodex/registry.json"],
  },
  args: { registry: { type: "string", required: true, valueHint: "FILE", description: "Private registry." } },
  async run({ args }) {
    const { hookEntry } = await import("../hooks/entry.ts");
    return await hookEntry(["recover", "--registry", args.registry]);
  },
});

const config = defineStrictCommand({
  meta: {
    name: "hook config",
    description: "Print host configuration for the hooks. Installs nothing and touches no trust.",
    examples: [
      "proctor hook config --config /home/me/.webcodex/observe.json --registry /home/me/.webcodex/registry.json",
    ],
  },
  args: {
    config: { type: "string", valueHint: "FILE", description: "Configuration of the observing hook." },
    registry: { type: "string", valueHint: "FILE", description: "Registry of the recovering hook." },
    format: {
      type: "string",
      choices: ["hooks.json", "config.toml"],
      description: "Which host file.",
      defaultText: "hooks.json",
    },
  },
  async run({ args }) {
    const { hostConfig } = await import("../hooks/host-config.ts");
    if (args.config === undefined && args.registry === undefined) {
      throw new UsageError("--config or --registry is required.");
    }
    const [observeConfig, registry] = [absolute(args.config), absolute(args.registry)];
    const format = args.format === "config.toml" ? "config.toml" : "hooks.json";
    printText(hostConfig({ binary: executablePath(), observeConfig, registry, format }));
    return 0;
  },
});

/** A host starts hooks in folders of its own, so a path is written whole. */
function absolute(path: string | undefined): string | undefined {
  return path === undefined ? undefined : resolve(currentFolder(), path);
}

const doctor = defineStrictCommand({
  meta: {
    name: "hook doctor",
    description: "Say whether the hooks are configured, trusted, fired and delivered, and why not.",
    examples: ["proctor hook doctor --config /home/me/.webcodex/observe.json --codex-home /home/me/.codex"],
    notes: ["Exit 1 when something needs a hand. Reads only."],
  },
  args: {
    config: { type: "string", required: true, valueHint: "FILE", description: "Configuration of the observing hook." },
    registry: { type: "string", valueHint: "FILE", description: "Registry of the recovering hook." },
    "codex-home": {
      type: "string",
      valueHint: "DIR",
      description: "The host's home.",
      defaultText: "CODEX_HOME or ~/.codex",
    },
    json: { type: "boolean", description: "Print the findings as JSON." },
  },
  async run({ args }) {
    const { hookDoctor } = await import("../hooks/doctor.ts");
    const environment = processEnvironment();
    const codexHome = args["codex-home"] ?? environment.CODEX_HOME ?? `${environment.HOME ?? currentFolder()}/.codex`;
    const configPath = resolve(currentFolder(), args.config);
    const found = hookDoctor({ configPath, registryPath: absolute(args.registry), codexHome });
    printResult(found, {
      json: args.json,
      text: () => found.findings.map((one) => `${one.ok ? "ok     " : "PROBLEM"} ${one.name}: ${one.text}`).join("\n"),
    });
    return found.healthy ? 0 : 1;
  },
});

export default defineStrictCommand({
  meta: {
    name: "hook",
    description: "The two hooks of an agent host, and help with them.",
    examples: ["proctor hook observe --config /home/me/.webcodex/observe.json --deliver background"],
  },
  words: {
    observe: async () => ({ default: observe }),
    recover: async () => ({ default: recover }),
    config: async () => ({ default: config }),
    doctor: async () => ({ default: doctor }),
  },
});
