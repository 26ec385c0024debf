// What a stand-in refuses, each with the one sentence a person reads.
export const standinCodes = {
  standin_unknown_misbehaviour: "This stand-in knows no misbehaviour of that name; `--help` lists them.",
  standin_config_unreadable: "The --config words do not name the MCP server `bidirectional` with a loopback address.",
  standin_token_missing: "The environment variable that bearer_token_env_var names is not set.",
  standin_prompt_too_large: "The prompt on stdin is larger than 131,072 bytes.",
  standin_mcp_unavailable: "The MCP endpoint did not answer as MCP.",
  standin_fixture_missing: "The folder holds neither clamp.py nor clamp.ts.",
  standin_scenario_unreadable: "The scenario is no readable JSON file of at most 1 MiB.",
  standin_scenario_invalid: "The scenario does not follow its format.",
  standin_plane_environment: "WEBCODEX_ADDR, WEBCODEX_DATA and WEBCODEX_TOKEN have to be set.",
  standin_inner_not_ready: "The embedded part behind the stand-in did not start.",
  standin_runner_config_unreadable: "The runner's configuration is no private TOML file with a server_url and a token.",
  standin_listen_failed: "The app-server stand-in could not listen there; the port or path may be taken.",
} as const;
export type StandinCode = keyof typeof standinCodes;
