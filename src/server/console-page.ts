// GET /console: one self-contained page without a secret in it. It loads nothing, asks this server only, and its
// policy lets exactly the one script and the one style run that are written here.
import { consoleScript } from "./console-script.ts";

const style = `
:root{--ink:#1b1f24;--paper:#ffffff;--soft:#f3f5f7;--line:#c9d0d7;--dim:#4f5a66;--mark:#0b4f8a}
@media (prefers-color-scheme:dark){:root{--ink:#e8ecf0;--paper:#14181c;--soft:#1e242a;--line:#3c4650;--dim:#aab4be;--mark:#8cc4f5}}
*{box-sizing:border-box}
[hidden]{display:none!important}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
main{max-width:75rem;margin:0 auto;padding:1rem}
h1{font-size:1.5rem;margin:.25rem 0}
h2{font-size:1.15rem;margin:1.75rem 0 .5rem;border-bottom:1px solid var(--line);padding-bottom:.25rem}
.dim{color:var(--dim)}
form{display:flex;flex-wrap:wrap;gap:.5rem;align-items:end}
label{display:block;font-weight:600;flex-basis:100%}
input{flex:1 1 14rem;min-width:0}
input,button{font:inherit;color:inherit;background:var(--soft);border:1px solid var(--dim);border-radius:.4rem;padding:.4rem .7rem;min-height:2.5rem}
button{cursor:pointer;text-align:left}
button[aria-pressed=true]{border:2px solid var(--mark);font-weight:700}
:focus-visible{outline:3px solid var(--mark);outline-offset:2px}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%}
caption{text-align:left;color:var(--dim);padding:.25rem 0}
th,td{text-align:left;vertical-align:top;padding:.4rem .5rem;border-bottom:1px solid var(--line);font-weight:400}
thead th{background:var(--soft);font-weight:600}
code,pre{font-family:ui-monospace,monospace;font-size:.85rem}
pre{background:var(--soft);border:1px solid var(--line);border-radius:.4rem;padding:.75rem;white-space:pre-wrap;max-height:30rem;overflow:auto}
dt{font-weight:600}dd{margin:0 0 .5rem}
summary{cursor:pointer;padding:.5rem 0;font-weight:600}
@media (max-width:40rem){thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}table,tbody,caption,tr,th,td{display:block}tbody tr{border-bottom:2px solid var(--line);padding:.4rem 0}th,td{border:0;padding:.15rem 0}td::before{content:attr(data-label) ": ";color:var(--dim)}td:empty{display:none}}
`;

const sections: ReadonlyArray<readonly [string, string]> = [
  ["projects", "Projects"],
  ["sessions", "Sessions"],
  ["tasks", "Tasks"],
  ["runs", "Runs"],
  ["observations", "Reports on the Session"],
  ["brief", "Hand-off of the Session"],
];

const page = [
  "<!doctype html>",
  '<html lang="en"><head><meta charset="utf-8"><title>Proctor server</title>',
  '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">',
  `<link rel="icon" href="data:,"><style>${style}</style></head><body><main>`,
  "<h1>Proctor server</h1>",
  '<form id="enter" method="post" autocomplete="off"><label for="token">Token</label>',
  '<input id="token" type="password" autocomplete="off" spellcheck="false" required aria-describedby="about">',
  '<button type="submit">Open</button>',
  '<p id="about" class="dim">It stays in this page until you leave it, and is sent to this server only.</p></form>',
  '<p id="message" role="status"></p>',
  '<div id="desk" hidden><p id="facts" class="dim"></p><button id="leave" type="button">Forget the token</button>',
  ...sections.map(
    ([id, name]) =>
      `<section aria-labelledby="of-${id}"><h2 id="of-${id}">${name}</h2><div id="${id}"></div></section>`,
  ),
  `</div><noscript><p>This page needs its script.</p></noscript></main><script>${consoleScript}</script></body></html>`,
  "",
].join("\n");

function hashOf(text: string): string {
  return `'sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}'`;
}

const policy = [
  "default-src 'none'",
  `script-src ${hashOf(consoleScript)}`,
  `style-src ${hashOf(style)}`,
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The page, the same for everybody; it shows nothing before a token is given to it. */
export function consolePage(): Response {
  return new Response(page, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy,
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
    },
  });
}
