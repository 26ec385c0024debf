// Every refusal of the gateway to its operator; clients get the fixed numbers of `refusals.ts`.
export const gatewayCodes = {
  random_source: "The system's random source failed; nothing was issued.",
  credential_collision: "Fresh credentials collided three times; nothing was issued.",
  credential_revoked: "The credential is already revoked or unknown here.",
  invalid_bootstrap: "The bootstrap credential is not the current one of this gateway.",
  invalid_client: "A client id is 1 to 64 letters, digits, dashes or underscores.",
  credential_file: "The private credential file could not be written, read or removed.",
  permission_denied: "The folder or file is not private to this user.",
  configuration_locked: "The gateway is already shared; its configuration no longer changes.",
  endpoint_exists: "Something exists at the socket path; remove it yourself if it is a dead socket.",
  endpoint_invalid: "The socket path is not absolute, has no parent or is longer than 103 bytes.",
  endpoint_unavailable: "The gateway could not listen on the address.",
  upstream_invalid: "The upstream is `stdio -- CMD`, `unix:PATH` or `ws://127.0.0.1:PORT`.",
  upstream_unreachable: "The upstream app-server could not be reached.",
  runtime_close_failed: "The clients are revoked, but the runtime could not be closed.",
  gateway_running: "A gateway already runs in this runtime folder.",
  gateway_unreachable: "No running gateway answers in this runtime folder.",
  gateway_request_invalid: "The gateway did not understand the operator's request.",
  environment_name_invalid: "The variable's name is not one a program can be given.",
  child_not_started: "The program could not be started.",
  probe_target_invalid: "The probe attacks ws://127.0.0.1:PORT/ or unix:PATH only.",
} as const;
export type GatewayCode = keyof typeof gatewayCodes;
