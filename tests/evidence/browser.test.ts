// The verdict page in a real Chromium at phone and desk width: it lays out without sideways scrolling and runs no
// script. Only with PROCTOR_BROWSER=1 and a Chromium of the system; otherwise it is skipped.
import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { renderHtml } from "../../src/evidence/html.ts";
import { loadWholeReport } from "../../src/evidence/load.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { writeRun } from "./honest-report.ts";

const chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
const wanted = process.env.PROCTOR_BROWSER === "1" && chromium !== undefined;

test.skipIf(!wanted)("the page fits 390 px and 1280 px without sideways scrolling", async () => {
  await using folder = await tempFolder();
  writeRun(folder.path);
  const page = join(folder.path, "report.html");
  writeFileSync(page, renderHtml(loadWholeReport(folder.path)));
  for (const width of [390, 1280]) {
    // An outer page measures the real one in a frame of exactly that width and writes the result into its title.
    const outer = join(folder.path, `outer-${width}.html`);
    writeFileSync(
      outer,
      `<iframe id="f" src="report.html" style="width:${width}px;height:2000px;border:0"></iframe>
<script>f.onload=()=>{const d=f.contentDocument.documentElement;document.body.dataset.seen=d.scrollWidth+"/"+d.clientWidth}</script>`,
    );
    const child = Bun.spawn(
      [
        chromium!,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--allow-file-access-from-files",
        `--user-data-dir=${join(folder.path, `profile-${width}`)}`,
        "--virtual-time-budget=5000",
        "--dump-dom",
        `file://${outer}`,
      ],
      { stdout: "pipe", stderr: "ignore", env: { PATH: "/usr/bin:/bin", HOME: folder.path } },
    );
    const dom = await new Response(child.stdout).text();
    await child.exited;
    const [, scroll, client] = /data-seen="(\d+)\/(\d+)"/.exec(dom) ?? [];
    expect([width, Number(scroll) <= Number(client)]).toEqual([width, true]);
  }
});
