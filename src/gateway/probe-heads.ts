// The attacks that are one upgrade request each: the door stands open when the request is admitted.
import { type HeadFacts, headFor, type Target } from "./probe-wire.ts";

export interface HeadAttack {
  readonly check: string;
  readonly bytes: string;
  /** An answer is not needed: what must not happen is that the connection stays. */
  readonly mustEnd?: boolean;
}

/** `bearer` lets a check show that the very credential is refused in a wrong carrier; without it none is sent. */
export function headAttacks(target: Target, bearer: string | undefined): HeadAttack[] {
  const given = bearer === undefined ? [] : [`Authorization: Bearer ${bearer}`];
  const token = bearer ?? `probe.${"0".repeat(64)}`;
  const port = target.port === undefined ? "" : `:${target.port}`;
  const attack = (check: string, facts: HeadFacts): HeadAttack => ({ check, bytes: headFor(target, facts) });
  const besides = (check: string, ...lines: string[]) => attack(check, { lines: [...given, ...lines] });
  const atHost = (check: string, host: string | null) => attack(check, { lines: given, host });
  const twice = (line: string) => [line, line];
  return [
    attack("no_credential", {}),
    attack("unknown_credential", { lines: [`Authorization: Bearer probe.${"0".repeat(64)}`] }),
    attack("other_scheme", { lines: [`Authorization: Basic ${Buffer.from(token).toString("base64")}`] }),
    attack("self_declared_rights", { lines: ["X-Supercode-Permissions: observe,terminate"] }),
    attack("limiter_bypass", {
      lines: ["X-Forwarded-For: 127.0.0.1", "X-Real-IP: 127.0.0.1", "Forwarded: for=127.0.0.1"],
    }),
    besides("browser_origin", "Origin: https://evil.example"),
    besides("browser_origin_null", "Origin: null"),
    besides("browser_origin_empty", "Origin:"),
    besides("browser_origin_same", `Origin: http://${target.host}`),
    besides("browser_origin_lower_case", "origin: https://evil.example"),
    besides("browser_origin_extension", "Origin: chrome-extension://abcdefghijklmnop"),
    atHost("dns_rebinding", `evil.example${port}`),
    atHost("dns_rebinding_no_port", "evil.example"),
    atHost("dns_rebinding_nip", `127.0.0.1.nip.io${port}`),
    atHost("dns_rebinding_zero", `0.0.0.0${port}`),
    atHost("dns_rebinding_dot", `${target.host}.`),
    atHost("missing_host", null),
    attack("query_token", { target: `/?token=${token}` }),
    attack("query_access_token", { target: `/?access_token=${token}` }),
    attack("path_token", { target: `/${token}` }),
    attack("subprotocol_token", { lines: [`Sec-WebSocket-Protocol: bearer, ${token}`] }),
    attack("cookie_token", { lines: [`Cookie: token=${token}`] }),
    attack("duplicate_authorization", { lines: [`Authorization: Bearer ${token}`, "Authorization: Bearer x"] }),
    attack("duplicate_authorization_equal", { lines: twice(`Authorization: Bearer ${token}`) }),
    besides("duplicate_host", `Host: ${target.host}`),
    besides("duplicate_origin", ...twice("Origin: https://evil.example")),
    besides("duplicate_narrowing", ...twice("X-Supercode-Permissions: observe")),
    besides("duplicate_narrowing_mixed", "X-Supercode-Permissions: observe", "X-Proctor-Permissions: interact"),
    besides("smuggling_content_length", "Content-Length: 4"),
    besides("smuggling_transfer_encoding", "Transfer-Encoding: chunked"),
    besides("smuggling_folded_header", "X-A: b", " Transfer-Encoding: chunked"),
    attack("absolute_target", { lines: given, target: `http://${target.host}/` }),
    attack("old_protocol", { lines: given, version: "1.0" }),
    { ...besides("oversized_head", `X-Pad: ${"x".repeat(70_000)}`), mustEnd: true },
    {
      check: "endless_head",
      bytes: `GET / HTTP/1.1\r\nHost: ${target.host}\r\nX-Pad: ${"x".repeat(70_000)}`,
      mustEnd: true,
    },
  ];
}
