// What to do when the model service refused the login of a real client. The counted categories are all that is known:
// no text of the client is kept, and no login file is opened.
import { isRecord } from "../base/json.ts";
import type { Fields } from "./report-book.ts";

const categories = [
  "http_401",
  "unauthorized",
  "invalid_grant",
  "refresh_token_expired",
  "refresh_token_reused",
  "refresh_token_invalidated",
  "failed_to_refresh_token",
] as const;

/** One line with the next step, or none when nothing points at a login. */
export function loginAdvice(report: Fields): string[] {
  const { consumer, managed, seats } = report;
  if (report["state"] === "passed" || !seatsReal(seats)) return [];
  const counts = [at(consumer, "diagnostics", "categories"), at(consumer, "stdout_diagnostics", "categories")];
  const all = [...counts, at(managed, "acp_audit", "diagnostic_categories")];
  const seen = categories.filter((name) => all.some((one) => isRecord(one) && Number(one[name]) > 0));
  if (seen.length === 0) return [];
  return [
    `A login was refused online (${seen.join(", ")}). A good \`codex login status\` says nothing about the service: log in again with the CLI's own flow, \`codex login\`, and start a new run.`,
  ];
}

function seatsReal(seats: unknown): boolean {
  return [at(seats, "consumer", "kind"), at(seats, "adapter", "kind")].includes("real");
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => (isRecord(inner) ? inner[name] : undefined), value);
}
