// The frame every page of evidence stands in: one self-contained document, no script, nothing loaded from outside.
// Readable at phone width and on paper, light and dark.
import { escapeXml } from "./junit.ts";

/** Markup that is already escaped. */
export type Markup = string;

/** A whole document around the sections. */
export function page(title: string, body: readonly Markup[]): string {
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>${style}</style>`,
    "</head>",
    "<body>",
    "<main>",
    ...body,
    "</main>",
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

/** A section with its own heading. */
export function section(id: string, heading: string, content: Markup): Markup {
  return `<section aria-labelledby="${id}"><h2 id="${id}">${escapeXml(heading)}</h2>\n${content}\n</section>`;
}

/** Content that is folded away until it is asked for, without a script; paper shows it whole. */
export function folded(summary: string, content: Markup): Markup {
  return `<details><summary>${escapeXml(summary)}</summary>\n${content}\n</details>`;
}

/** A table with a caption; cells are text unless marked up already. */
export function table(caption: string, head: readonly string[], rows: ReadonlyArray<readonly Cell[]>): Markup {
  const heads = head.map((text) => `<th scope="col">${escapeXml(text)}</th>`).join("");
  const body = rows.map(
    (row) => `<tr>${row.map((cell, index) => cellOf(cell, head[index] ?? "", index)).join("")}</tr>`,
  );
  return `<div class="wide" role="region" aria-label="${escapeXml(caption)}" tabindex="0"><table><caption>${escapeXml(caption)}</caption><thead><tr>${heads}</tr></thead><tbody>\n${body.join("\n")}\n</tbody></table></div>`;
}

export type Cell = string | { readonly markup: Markup };

/** A word of state, told by text and not by colour alone. */
export function badge(outcome: string): Markup {
  const kinds: Readonly<Record<string, string>> = {
    pass: "good",
    passed: "good",
    gone: "good",
    "still visible": "bad",
    fail: "bad",
    failed: "bad",
    incomplete: "open",
    not_applicable: "open",
  };
  return `<span class="badge ${kinds[outcome] ?? "open"}">${escapeXml(outcome.replaceAll("_", " "))}</span>`;
}

function cellOf(cell: Cell, label: string, index: number): Markup {
  const content = typeof cell === "string" ? escapeXml(cell) : cell.markup;
  return index === 0 ? `<th scope="row">${content}</th>` : `<td data-label="${escapeXml(label)}">${content}</td>`;
}

const style = `
:root{--ink:#1b1f24;--paper:#ffffff;--soft:#f3f5f7;--line:#c9d0d7;--dim:#4f5a66;--good:#0b5d2c;--bad:#9c1414;--open:#6b4a00;--add:#0b5d2c;--cut:#9c1414}
@media (prefers-color-scheme:dark){:root{--ink:#e8ecf0;--paper:#14181c;--soft:#1e242a;--line:#3c4650;--dim:#aab4be;--good:#7ddc9c;--bad:#ff9a94;--open:#f0c674;--add:#7ddc9c;--cut:#ff9a94}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:break-word}
main{max-width:70rem;margin:0 auto;padding:1rem}
h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0}
h2{font-size:1.2rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line);padding-bottom:.25rem}
p{margin:.5rem 0}
.lead{font-size:1.1rem}
.dim{color:var(--dim)}
.badge{display:inline-block;border:2px solid currentColor;border-radius:.4rem;padding:0 .45rem;font-weight:700;white-space:nowrap}
.good{color:var(--good)}.bad{color:var(--bad)}.open{color:var(--open)}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.95rem}
caption{text-align:left;color:var(--dim);padding:.25rem 0}
th,td{text-align:left;vertical-align:top;padding:.4rem .5rem;border-bottom:1px solid var(--line)}
thead th{background:var(--soft)}
tbody th{font-weight:600}
code{overflow-wrap:anywhere}
@media (min-width:40.01rem){th{white-space:nowrap}}
code,pre{font-family:ui-monospace,monospace;font-size:.9rem}
pre{background:var(--soft);padding:.75rem;overflow-x:auto;border:1px solid var(--line);border-radius:.4rem;overflow-wrap:normal}
ins{color:var(--add);text-decoration:none}del{color:var(--cut);text-decoration:none}
ol.plain,ol.spans,ul.cards{list-style:none;margin:.5rem 0;padding:0}
ol.spans li{margin:.6rem 0}
.track{display:block;background:var(--soft);border-radius:.3rem;margin-top:.15rem}
.bar{display:block;height:.9rem;min-width:3px;border-radius:.3rem;background:var(--good)}
.bar.outage{background:repeating-linear-gradient(45deg,var(--bad) 0 6px,var(--paper) 6px 10px);outline:2px solid var(--bad)}
ul.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(20rem,100%),1fr));gap:.75rem}
ul.cards li{background:var(--soft);border:1px solid var(--line);border-radius:.5rem;padding:.6rem .75rem}
summary{cursor:pointer;padding:.4rem 0;font-weight:600}
@media (max-width:40rem){thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}table,tbody,caption{display:block}tbody tr{display:grid;grid-template-columns:1fr auto;border-bottom:2px solid var(--line);padding:.4rem 0}th,td{display:block;border:0;padding:.1rem 0;min-width:0}td{grid-column:1/-1}td:has(.badge){grid-column:2;grid-row:1}td:not(:has(.badge))::before{content:attr(data-label) ": ";color:var(--dim)}td:empty{display:none}}
@media print{:root{--ink:#000;--paper:#fff;--soft:#fff;--line:#888;--dim:#333;--good:#000;--bad:#000;--open:#000;--add:#000;--cut:#000}section{break-inside:avoid-page}details::details-content{content-visibility:visible;block-size:auto}.bar{background:#000}pre{white-space:pre-wrap}}
`;
