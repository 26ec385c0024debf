// A real Chromium of the system, driven over its own debugging socket: a page at a given width and colour scheme,
// looked at for sideways scrolling, console errors and accessibility (axe-core). Where none is installed, `browserPath`
// is null and a test that needs one skips.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "./temp-folder.ts";

/** Where the system's Chromium is, or null. */
export const browserPath =
  ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path)) ?? null;

export interface PageView {
  /** CSS pixels; the height is 900. */
  readonly width: number;
  readonly dark?: boolean;
  /** Where a PNG of the whole page is written. */
  readonly screenshot?: string;
}

export interface PageSeen {
  /** How far the content is wider than the window. */
  readonly sideways: number;
  /** Rules of axe-core that were broken, with the places. */
  readonly violations: readonly string[];
  /** Console errors and uncaught exceptions. */
  readonly errors: readonly string[];
  readonly text: string;
}

export interface Browser extends AsyncDisposable {
  /** Loads the page once, waits until the expression is true in it, and looks at it in each view; one page at a time. */
  look(url: string, views: readonly PageView[], until?: string): Promise<PageSeen[]>;
}

type Reply = { result?: { value?: unknown }; exceptionDetails?: unknown; data?: string };

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-extensions",
  "--disable-default-apps",
  "--disable-component-extensions-with-background-pages",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
  "--remote-debugging-port=0",
];

/** Starts the system's Chromium with an empty profile; the process and the profile end with the scope. */
export async function openBrowser(): Promise<Browser> {
  if (browserPath === null) throw new Error("no Chromium on this machine");
  const profile = await tempFolder("proctor-browser-");
  const child = Bun.spawn([browserPath, ...flags, `--user-data-dir=${profile.path}`, "about:blank"], {
    stdio: ["ignore", "ignore", "ignore"],
    env: { PATH: "/usr/bin:/bin", HOME: profile.path },
  });
  const tab = await openTab(await debuggingPort(join(profile.path, "DevToolsActivePort")));
  const axe = readFileSync(join(import.meta.dir, "../../node_modules/axe-core/axe.min.js"), "utf8");
  return {
    look: (url, views, until) => lookAt(tab, url, { views, until, axe }),
    async [Symbol.asyncDispose]() {
      tab.close();
      child.kill("SIGKILL");
      await child.exited;
      await profile[Symbol.asyncDispose]();
    },
  };
}

async function debuggingPort(path: string): Promise<number> {
  for (let waited = 0; waited < 30_000; waited += 50) {
    const port = existsSync(path) ? Number(readFileSync(path, "utf8").split("\n")[0]) : 0;
    if (port > 0) return port;
    await Bun.sleep(50);
  }
  throw new Error("Chromium did not open its debugging port");
}

interface PageLook {
  readonly views: readonly PageView[];
  readonly until: string | undefined;
  readonly axe: string;
}

async function lookAt(tab: Tab, url: string, { views, until, axe }: PageLook): Promise<PageSeen[]> {
  tab.errors.length = 0;
  await show(tab, views[0]);
  // The tab may still show the page before when it is first asked: only a new document is without this mark.
  await tab.value("globalThis.left = true");
  await tab.send("Page.navigate", { url });
  await tab.until("globalThis.left === undefined && document.readyState === 'complete'");
  if (until !== undefined) await tab.until(until);
  // Evaluated from outside the page, so its Content-Security-Policy stays in force for everything else.
  await tab.value(`${axe}; true`);
  const seen: PageSeen[] = [];
  for (const view of views) {
    await show(tab, view);
    const sideways = await tab.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    const text = await tab.value("document.body.innerText");
    const violations = await tab.value(
      "axe.run(document, { resultTypes: ['violations'] }).then(seen => seen.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target.join(' ')).join(', ')))",
    );
    if (view.screenshot !== undefined) {
      const shot = await tab.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true });
      await Bun.write(view.screenshot, Buffer.from(shot.data ?? "", "base64"));
    }
    const errors = [...tab.errors];
    seen.push({ sideways: Number(sideways), violations: violations as string[], errors, text: String(text) });
  }
  return seen;
}

async function show(tab: Tab, view: PageView | undefined): Promise<void> {
  const { width = 1280, dark = false } = view ?? {};
  await tab.send("Emulation.setDeviceMetricsOverride", {
    width,
    height: 900,
    deviceScaleFactor: 1,
    mobile: width < 600,
  });
  await tab.send("Emulation.setEmulatedMedia", {
    features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }],
  });
}

interface Tab {
  readonly errors: string[];
  send(method: string, params?: object): Promise<Reply>;
  value(expression: string): Promise<unknown>;
  until(expression: string): Promise<void>;
  close(): void;
}

/** The one tab that the browser opened with. */
async function openTab(port: number): Promise<Tab> {
  const targets = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json();
  const page = (targets as { type: string; webSocketDebuggerUrl: string }[]).find(({ type }) => type === "page");
  if (page === undefined) throw new Error("Chromium opened no page");
  const socket = new WebSocket(page.webSocketDebuggerUrl);
  const waiting = new Map<number, (message: { result?: Reply; error?: { message: string } }) => void>();
  const errors: string[] = [];
  let last = 0;
  socket.addEventListener("message", (event) => {
    const message = JSON.parse(String(event.data));
    if (message.id !== undefined) waiting.get(message.id)?.(message);
    if (message.method === "Runtime.exceptionThrown") errors.push(message.params.exceptionDetails.text);
    if (message.method === "Log.entryAdded" && message.params.entry.level === "error") {
      errors.push(message.params.entry.text);
    }
  });
  await new Promise<void>((open, fail) => {
    socket.addEventListener("open", () => open(), { once: true });
    socket.addEventListener("error", () => fail(new Error("Chromium refused the debugging socket")), { once: true });
  });
  const send = (method: string, params: object = {}) =>
    new Promise<Reply>((done, fail) => {
      const id = ++last;
      waiting.set(id, (message) => {
        waiting.delete(id);
        if (message.error === undefined) done(message.result ?? {});
        else fail(new Error(`${method}: ${message.error.message}`));
      });
      socket.send(JSON.stringify({ id, method, params }));
    });
  const value = async (expression: string) => {
    const reply = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (reply.exceptionDetails !== undefined) throw new Error(JSON.stringify(reply.exceptionDetails));
    return reply.result?.value;
  };
  const until = async (expression: string) => {
    for (let waited = 0; waited < 30_000; waited += 50) {
      if ((await value(expression)) === true) return;
      await Bun.sleep(50);
    }
    throw new Error(`the page never showed: ${expression}`);
  };
  for (const domain of ["Page", "Runtime", "Log"]) await send(`${domain}.enable`);
  return { errors, send, value, until, close: () => socket.close() };
}
