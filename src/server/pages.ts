// What GET answers: health for a supervisor, figures for a scraper, the console for a person. Health says nothing
// about anybody; the rest needs a token.

import { version } from "../version.ts";
import { consolePage } from "./console-page.ts";
import { missingScope } from "./principal.ts";
import type { Rates } from "./rates.ts";
import { missingScopeAnswer, refusal } from "./refusal.ts";
import type { PageRoute } from "./route.ts";
import type { RunnerRegistry } from "./runner-registry.ts";
import type { Store } from "./store.ts";

interface PageParts {
  readonly rates: Rates;
  readonly store: Store;
  readonly runners: RunnerRegistry;
}

export function pagesOf(parts: PageParts): Readonly<Record<string, PageRoute>> {
  return {
    "/healthz": { open: true, answer: () => plain("ok\n") },
    "/readyz": { open: true, answer: () => ready(parts.store) },
    "/console": { open: true, answer: consolePage },
    "/metrics": {
      open: false,
      answer(context) {
        const scope = context === null ? "runtime:read" : missingScope(context.principal, ["runtime:read"]);
        return scope === null ? plain(metrics(parts)) : missingScopeAnswer(scope);
      },
    },
  };
}

function plain(text: string): Response {
  return new Response(text, {
    headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" },
  });
}

async function ready(store: Store): Promise<Response> {
  try {
    await store.read((db) => db.query("SELECT 1").get());
    return plain("ready\n");
  } catch {
    // Not ready is the whole answer; the reason is in the log of whoever failed.
    return refusal(503, "store_unavailable");
  }
}

/** Prometheus text; no label holds anything a caller chose. */
function metrics({ rates, store, runners }: PageParts): string {
  const counters = store.counters();
  const rows: ReadonlyArray<readonly [string, "gauge" | "counter", number]> = [
    ["proctor_requests_in_flight", "gauge", rates.inFlight],
    ["proctor_long_polls", "gauge", rates.longPolls],
    ["proctor_runners_connected", "gauge", runners.runners().length],
    ["proctor_store_commits_total", "counter", counters.commits],
    ["proctor_store_writes_total", "counter", counters.writes],
    ["proctor_store_failed_commits_total", "counter", counters.failedCommits],
    ["proctor_resident_bytes", "gauge", process.memoryUsage.rss()],
  ];
  const info = `# TYPE proctor_server_info gauge\nproctor_server_info{version="${version}"} 1\n`;
  return info + rows.map(([name, kind, value]) => `# TYPE ${name} ${kind}\n${name} ${value}\n`).join("");
}
