// Which server an operator may name: an https origin, or plain http on this machine. The host is judged as it is
// spelled, because URL parsers turn other spellings into loopback addresses.
import { Failure } from "../base/failure.ts";
import type { HooksCode } from "./codes.ts";

const maxPort = 65_535;
const loopback = ["127.0.0.1", "[::1]", "localhost"];

/** Throws unless `url` is an origin that may carry a credential. */
export function requireServerOrigin(url: string): void {
  const secure = hasScheme(url, "https://");
  const host = hostOf(url, secure ? "https://" : "http://");
  const allowed = host !== null && (secure || loopback.includes(host.toLowerCase()));
  if (!allowed) throw new Failure<HooksCode>("https_or_loopback_origin_required");
}

function hasScheme(url: string, scheme: string): boolean {
  return url.slice(0, scheme.length).toLowerCase() === scheme;
}

/** The host as it is spelled, when nothing but a port and one slash follows it; else null. */
function hostOf(url: string, scheme: string): string | null {
  if (!hasScheme(url, scheme)) return null;
  const rest = url.slice(scheme.length, url.endsWith("/") ? -1 : url.length);
  const end = rest.startsWith("[") ? rest.indexOf("]") + 1 : rest.indexOf(":");
  const host = end <= 0 ? rest : rest.slice(0, end);
  return isHost(host) && isPort(rest.slice(host.length)) ? host : null;
}

/** Letters of a bracketed address, or whatever no part of a URL but a host may hold. */
function isHost(host: string): boolean {
  if (host.startsWith("[")) return host.endsWith("]") && host.length > 2 && isAddress(host.slice(1, -1).toLowerCase());
  for (let i = 0; i < host.length; i++) {
    if (host.charCodeAt(i) <= 0x20 || "/?#@:[]\\".includes(host[i]!) || host[i]!.trim() === "") return false;
  }
  return host !== "";
}

function isAddress(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (!"0123456789abcdef:.".includes(text[i]!)) return false;
  return true;
}

/** Nothing, or a colon with one to five digits of a port that exists. */
function isPort(text: string): boolean {
  if (text === "") return true;
  if (!text.startsWith(":") || text.length < 2 || text.length > 6) return false;
  for (let i = 1; i < text.length; i++) if (!"0123456789".includes(text[i]!)) return false;
  return Number(text.slice(1)) <= maxPort;
}

/** The address of one route of the server. */
export function routeUrl(serverUrl: string, route: string): string {
  return serverUrl.replace(/\/+$/, "") + route;
}
