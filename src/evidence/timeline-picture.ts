// When what ran, as bars on one scale with the outage marked, and every checkpoint folded below.
import type { Report } from "../contract/report.ts";
import { escapeXml } from "./junit.ts";
import { folded, type Markup } from "./page.ts";
import { type Span, spansOf } from "./spans.ts";

/** The timeline of a report; words carry it, the bars repeat them. */
export function timeline(report: Report): Markup {
  const entries = report.timeline ?? [];
  if (entries.length === 0) return "<p>No timeline was recorded.</p>";
  const items = entries.map((entry) => {
    const after = Math.max(0, entry.at_unix - report.started_at_unix).toFixed(2);
    return `<li><span class="dim">+${after} s</span> ${escapeXml(entry.what)}</li>`;
  });
  return `${picture(spansOf(report))}\n${folded("Every checkpoint", `<ol class="plain">\n${items.join("\n")}\n</ol>`)}`;
}

/** Bars on one scale, drawn by the style sheet alone; each says its times in words too. */
function picture(spans: readonly Span[]): Markup {
  const whole = Math.max(...spans.map((span) => span.to), 0.01);
  const percent = (seconds: number) => ((Math.max(0, seconds) / whole) * 100).toFixed(2);
  const rows = spans.map((span) => {
    const place = `margin-left:${percent(span.from)}%;width:${percent(span.to - span.from)}%`;
    const words = `${span.from.toFixed(1)}–${span.to.toFixed(1)} s`;
    const label = span.kind === "outage" ? `<strong>Outage: ${escapeXml(span.label)}</strong>` : escapeXml(span.label);
    return `<li>${label} <span class="dim">${words}</span><span class="track" aria-hidden="true"><span class="bar ${span.kind}" style="${place}"></span></span></li>`;
  });
  return rows.length === 0 ? "" : `<ol class="spans">\n${rows.join("\n")}\n</ol>`;
}
