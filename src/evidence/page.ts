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
ol.timeline{list-style:none;margin:0;padding:0 0 0 1rem;border-left:3px solid var(--line)}
ol.timeline li{margin:.4rem 0}
ol.timeline li.outage{border-left:.5rem solid var(--bad);padding-left:.6rem;margin-left:-1.4rem}
@media (max-width:40rem){thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}table,tbody,tr,th,td,caption{display:block}tbody tr{border-bottom:2px solid var(--line);padding:.4rem 0}th,td{border:0;padding:.1rem 0}td::before{content:attr(data-label) ": ";color:var(--dim)}}
@media print{:root{--ink:#000;--paper:#fff;--soft:#fff;--line:#888;--dim:#333;--good:#000;--bad:#000;--open:#000;--add:#000;--cut:#000}section{break-inside:avoid-page}pre{white-space:pre-wrap}}
`;
