// Judges a request head in the order of the checks: shape, Host and Origin faults are told before anything about
// a credential. Pure but for taking the credential's channel, which is given back by a later refusal.
import type { AuthenticationFault, Grant } from "./credentials.ts";
import type { RequestHead } from "./head.ts";
import { narrow, parseNarrowing, type Rights } from "./permissions.ts";
import type { UpgradeRefusal } from "./refusals.ts";

export type HostRule =
  | { readonly kind: "tcp"; readonly address: string; readonly forwardedPorts: ReadonlySet<number> }
  | { readonly kind: "unix" }
  /** A socket that is its client's identity: no bearer, and the stock TUI's `/rpc` is a path here. */
  | { readonly kind: "client-unix" };

export type Verdict =
  | { readonly admit: true; readonly grant: Grant; readonly rights: Rights; readonly key: string }
  | { readonly admit: false; readonly why: UpgradeRefusal };

export interface Gatekeeper {
  /** The one generation whose grants are served. */
  readonly generation: string;
  /** The bearer's grant; null for a socket that is an identity. */
  authenticate(bearer: string | null): Grant | AuthenticationFault;
}

const narrowingNames = ["x-supercode-permissions", "x-proctor-permissions"];
const absoluteForm = /^[a-z][a-z0-9+.-]*:\/\/[^/]*/i;
const carriers = ["cookie", "sec-websocket-protocol", "transfer-encoding", "content-length"];

export function judgeUpgrade(head: RequestHead, rule: HostRule, keeper: Gatekeeper): Verdict {
  const shape = judgeShape(head, rule);
  if (shape !== null) return { admit: false, why: shape };
  const bearer = rule.kind === "client-unix" ? null : bearerOf(head);
  if (bearer === undefined) return { admit: false, why: "unauthenticated" };
  const grant = keeper.authenticate(bearer);
  if (typeof grant === "string") return { admit: false, why: grant };
  if (grant.generation !== keeper.generation) {
    grant.release();
    return { admit: false, why: "unauthenticated" };
  }
  const asked = narrowingNames.flatMap((name) => values(head, name))[0];
  const named = asked === undefined ? grant.rights : parseNarrowing(asked);
  if (named === null) {
    grant.release();
    return { admit: false, why: "bad_narrowing" };
  }
  return { admit: true, grant, rights: narrow(grant.rights, named), key: values(head, "sec-websocket-key")[0]! };
}

/** The first fault that has nothing to do with a credential. */
export function judgeShape(head: RequestHead, rule: HostRule): UpgradeRefusal | null {
  if (head.method !== "GET") return "wrong_method";
  const path = head.target.replace(absoluteForm, "") || "/";
  if (path !== "/" && !(rule.kind === "client-unix" && path === "/rpc")) return "wrong_path";
  if (carriers.some((name) => values(head, name).length > 0)) return "forbidden_carrier";
  if (["host", "origin", "authorization"].some((name) => values(head, name).length > 1)) return "repeated_header";
  if (narrowingNames.flatMap((name) => values(head, name)).length > 1) return "repeated_header";
  if (absoluteForm.test(head.target)) return "absolute_target";
  const host = values(head, "host")[0];
  if (host === undefined || !/^[!-~]+$/.test(host)) return "missing_host";
  if (!hostMatches(host, rule)) return "wrong_host";
  if (values(head, "origin").length > 0) return "origin_present";
  if (rule.kind === "client-unix" && values(head, "authorization").length > 0) return "forbidden_carrier";
  return isWebSocketUpgrade(head) ? null : "not_an_upgrade";
}

function hostMatches(host: string, rule: HostRule): boolean {
  if (rule.kind !== "tcp") return host === "localhost";
  if (host === rule.address) return true;
  const port = /^127\.0\.0\.1:([1-9][0-9]{0,4})$/.exec(host)?.[1];
  return port !== undefined && rule.forwardedPorts.has(Number(port));
}

function bearerOf(head: RequestHead): string | undefined {
  return /^Bearer ([!-~]+)$/.exec(values(head, "authorization")[0] ?? "")?.[1];
}

function isWebSocketUpgrade(head: RequestHead): boolean {
  const one = (name: string) => (values(head, name).length === 1 ? values(head, name)[0]! : "");
  return (
    one("upgrade").toLowerCase() === "websocket" &&
    one("connection")
      .split(",")
      .some((word) => word.trim().toLowerCase() === "upgrade") &&
    one("sec-websocket-version") === "13" &&
    /^[+/0-9A-Za-z]{21}[AQgw]==$/.test(one("sec-websocket-key"))
  );
}

function values(head: RequestHead, name: string): string[] {
  return head.headers.filter(([key]) => key === name).map(([, value]) => value);
}
