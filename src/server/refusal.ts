// The answers of the HTTP rim. Nothing a caller sent is echoed, and no error's text leaves the process.
import { Failure } from "../base/failure.ts";

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...headers,
    },
  });
}

/** `{status, error}`, the helper shape of every refusal that no tool made. */
export function refusal(status: number, error: string, headers: Record<string, string> = {}): Response {
  return json(status, { status, error }, headers);
}

export function unauthorized(): Response {
  return json(401, { error: "Unauthorized" }, { "www-authenticate": "Bearer" });
}

export function missingScopeAnswer(scope: string): Response {
  return refusal(403, `missing required scope: ${scope}`);
}

/** What a caller may know of a throw: only whether the store was at fault. */
export function faultAnswer(error: unknown): Response {
  if (error instanceof Failure && error.code === "store_unavailable") return refusal(503, "store_unavailable");
  if (error instanceof Failure && error.code === "store_uncertain") return refusal(500, "store_uncertain");
  return refusal(500, "internal error");
}
