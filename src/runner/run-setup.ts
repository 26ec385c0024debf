// Everything between a started agent and its prompt: initialize, session/new, and configuration values that were set
// and seen to be current. Any doubt is a failure here, while nothing has been prompted.
import { Failure } from "../base/failure.ts";
import { isRecord } from "../base/json.ts";
import { type ConfigOption, type ConfigValue, readConfigOptions } from "../contract/acp.ts";
import { buildFacts } from "../version.ts";
import type { RunCode, SetupStage } from "./codes.ts";

/** Asks the agent one thing; throws the stage's failure when it cannot be answered. */
export type Ask = (method: string, params: unknown, stage: SetupStage) => Promise<unknown>;

export interface SetupWishes {
  readonly cwd: string;
  readonly forced: Readonly<Record<string, ConfigValue>>;
  readonly wanted: Readonly<Record<string, ConfigValue>>;
  readonly allowed: readonly string[];
}

/** Returns the session id, ready for its one prompt. */
export async function setUpSession(ask: Ask, wishes: SetupWishes): Promise<string> {
  const hello = await ask(
    "initialize",
    {
      protocolVersion: 1,
      clientCapabilities: {},
      clientInfo: { name: "webcodex-runner", version: buildFacts().version },
    },
    "coding_agent_initialize",
  );
  if (!isRecord(hello)) throw new Failure<RunCode>("coding_agent_initialize_failed");
  if (hello.protocolVersion !== 1) throw new Failure<RunCode>("coding_agent_protocol_version_unsupported");
  const session = await ask("session/new", { cwd: wishes.cwd, mcpServers: [] }, "coding_agent_session_new");
  const first = isRecord(session) ? readConfigOptions(session.configOptions) : null;
  if (!isRecord(session) || typeof session.sessionId !== "string" || session.sessionId === "" || first === null)
    throw new Failure<RunCode>("coding_agent_session_new_invalid");
  for (const [key, value] of Object.entries(wishes.wanted))
    if (key in wishes.forced && wishes.forced[key] !== value)
      throw new Failure<RunCode>("coding_agent_forced_config_conflict");

  const setter = new ConfigSetter(ask, session.sessionId, first);
  const forced = Object.entries(wishes.forced).sort(([left], [right]) => (left < right ? -1 : 1));
  for (const [key, value] of forced) await setter.set(key, value, "forced_config");
  for (const [key, value] of Object.entries(wishes.wanted)) {
    if (key in wishes.forced) continue;
    if (!wishes.allowed.includes(key)) throw new Failure<RunCode>("coding_agent_config_not_allowed");
    await setter.set(key, value, "config");
  }
  // A later option may have moved an earlier one.
  for (const [key, value] of forced) if (!setter.shows(key, value)) await setter.set(key, value, "forced_config");
  if (!forced.every(([key, value]) => setter.shows(key, value)))
    throw new Failure<RunCode>("coding_agent_forced_config_not_applied");
  return session.sessionId;
}

class ConfigSetter {
  readonly #ask: Ask;
  readonly #sessionId: string;
  #options: readonly ConfigOption[];

  constructor(ask: Ask, sessionId: string, options: readonly ConfigOption[]) {
    this.#ask = ask;
    this.#sessionId = sessionId;
    this.#options = options;
  }

  shows(key: string, value: ConfigValue): boolean {
    const found = this.#options.filter((one) => one.id === key);
    return found.length === 1 && found[0]!.current === value;
  }

  async set(key: string, value: ConfigValue, family: "forced_config" | "config"): Promise<void> {
    const found = this.#options.filter((one) => one.id === key);
    const option = found[0];
    if (option === undefined || found.length > 1)
      throw new Failure<RunCode>(
        family === "forced_config" ? "coding_agent_forced_config_not_advertised" : "coding_agent_config_invalid",
      );
    const legal = option.type === "boolean" ? typeof value === "boolean" : option.values.includes(value as string);
    if (!legal) throw new Failure<RunCode>(`coding_agent_${family}_invalid`);
    const params = { sessionId: this.#sessionId, configId: key, value };
    const answer = await this.#ask(
      "session/set_config_option",
      typeof value === "boolean" ? { ...params, type: "boolean" } : params,
      `coding_agent_${family}`,
    );
    const options =
      isRecord(answer) && answer.configOptions !== undefined ? readConfigOptions(answer.configOptions) : null;
    if (options === null) throw new Failure<RunCode>(`coding_agent_${family}_invalid_response`);
    this.#options = options;
    if (!this.shows(key, value)) throw new Failure<RunCode>(`coding_agent_${family}_not_applied`);
  }
}
