// The probe of our own running gateway: with a credential made for it and one that was revoked before, both gone after.
import { Failure } from "../base/failure.ts";
import type { GatewayCode } from "./codes.ts";
import { askGateway } from "./control.ts";
import { type ProbeResult, probeEndpoint } from "./probe.ts";

/** Without `endpoint` the first address the gateway listens on. */
export async function probeOwn(
  folder: string,
  options: { readonly endpoint?: string; readonly only?: readonly string[] },
): Promise<ProbeResult> {
  const { addresses } = await askGateway(folder, { op: "status" });
  const endpoint = options.endpoint ?? (Array.isArray(addresses) ? addresses[0] : undefined);
  if (typeof endpoint !== "string") throw new Failure<GatewayCode>("gateway_unreachable");
  const issue = () => askGateway(folder, { op: "issue", client_id: "proctor-probe", preset: "observer" });
  const [used, revoked] = [await issue(), await issue()];
  try {
    await askGateway(folder, { op: "revoke", credential: revoked.credential });
    const bearers = { bearer: String(used.bearer), revoked: String(revoked.bearer) };
    return await probeEndpoint(endpoint, { ...bearers, only: options.only ?? [] });
  } finally {
    await askGateway(folder, { op: "revoke", credential: used.credential }).catch(() => {}); // it may have stopped meanwhile
  }
}
