// The two request policy headers: read per request, never sticky, never echoed. They change waiting only.

export interface RequestPolicy {
  readonly profile: "direct" | "host_code_mode";
  readonly budgetSeconds: number | null;
}

/** The policy, or "malformed" for an empty, repeated, non-ASCII or unknown value. */
export function readRequestPolicy(headers: Headers): RequestPolicy | "malformed" {
  const profile = headers.get("x-webcodex-mcp-profile");
  if (profile !== null && profile !== "direct" && profile !== "host_code_mode") return "malformed";
  const budget = headers.get("x-webcodex-mcp-budget-secs");
  if (budget !== null && !/^[1-9][0-9]{0,5}$/.test(budget)) return "malformed";
  return { profile: profile ?? "direct", budgetSeconds: budget === null ? null : Number(budget) };
}
