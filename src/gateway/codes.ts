// Every refusal of the gateway to its operator; clients get the fixed numbers of `refusals.ts`.
export const gatewayCodes = {
  random_source: "The system's random source failed; nothing was issued.",
  credential_collision: "Fresh credentials collided three times; nothing was issued.",
  credential_revoked: "The credential is already revoked or unknown here.",
  invalid_bootstrap: "The bootstrap credential is not the current one of this gateway.",
  invalid_client: "A client id is 1 to 64 letters, digits, dashes or underscores.",
  credential_file: "The private credential file could not be written, read or removed.",
  permission_denied: "The folder or file is not private to this user: it must be yours, a folder 0700 and a file 0600.",
  runtime_folder_missing:
    "The runtime folder is not there: name the one of a running gateway; only `gateway serve` makes it, not its parents.",
  configuration_locked: "The gateway is already shared; its configuration no longer changes.",
  endpoint_exists: "Something exists at the socket path; remove it yourself if it is a dead socket.",
  endpoint_invalid: "The socket path is not absolute, has no parent or is longer than 103 bytes.",
  endpoint_unavailable: "The gateway could not listen on the address: take another `--port` or `--socket`.",
  upstream_invalid: "The upstream is `stdio -- CMD`, `unix:PATH` or `ws://127.0.0.1:PORT`.",
  upstream_program_unusable:
    "The app-server's program is not there or cannot be executed: give one that PATH finds, or its whole path.",
  upstream_unreachable: "The upstream app-server could not be reached.",
  runtime_close_failed: "The clients are revoked, but the runtime could not be closed.",
  gateway_running:
    "A gateway already runs in this runtime folder: end it with `gateway terminate`, or name another folder.",
  gateway_unreachable:
    "No running gateway answers here: look at its address or folder, or start it with `gateway serve`.",
  gateway_request_invalid: "The gateway did not understand the operator's request.",
  environment_name_invalid:
    "The variable is not one a program can be given: it needs a plain name that steers no runtime, and a value.",
  child_not_started: "The program could not be started: look at its path and whether it may be executed.",
  probe_check_unknown: "The probe has no check of that name; its result without `--only` lists them.",
  probe_target_invalid: "The probe attacks ws://127.0.0.1:PORT/ or unix:PATH only.",
} as const;
export type GatewayCode = keyof typeof gatewayCodes;
