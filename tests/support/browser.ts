// A real Chromium of the system, driven over its own debugging socket: a page at a given width and colour scheme,
// looked at for sideways scrolling, console errors and accessibility (axe-core). Where none is installed, `browserPath`
// is null and a test that needs one skips.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "./temp-folder.ts";

/** Where the system's Chromium is, or null. */
export const browserPath =
  ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path)) ?? null;

export interface PageLook {
  /** CSS pixels; the height is 900. */
  readonly width: number;
  readonly dark?: boolean;
  /** Where a PNG of the whole page is written. */
  readonly screenshot?: string;
  /** Waits until this expression is true in the page. */
  readonly until?: string;
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
  look(url: string, look: PageLook): Promise<PageSeen>;
}

type Reply = { result?: { value?: unknown }; exceptionDetails?: unknown; data?: string; targetId?: string };

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
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
  const port = await debuggingPort(join(profile.path, "DevToolsActivePort"));
  const axe = readFileSync(join(import.meta.dir, "../../node_modules/axe-core/axe.min.js"), "utf8");
  return {
    look: (url, look) => lookAt(`http://127.0.0.1:${port}`, url, { ...look, axe }),
    async [Symbol.asyncDispose]() {
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

async function lookAt(endpoint: string, url: string, look: PageLook & { axe: string }): Promise<PageSeen> {
  const target = (await (await fetch(`${endpoint}/json/new?about:blank`, { method: "PUT" })).json()) as {
    id: string;
    webSocketDebuggerUrl: string;
  };
  const tab = await openTab(target.webSocketDebuggerUrl);
  try {
    await tab.send("Page.enable");
    await tab.send("Runtime.enable");
    await tab.send("Log.enable");
    await tab.send("Emulation.setDeviceMetricsOverride", {
      width: look.width,
      height: 900,
      deviceScaleFactor: 1,
      mobile: look.width < 600,
    });
    await tab.send("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: look.dark === true ? "dark" : "light" }],
    });
    await tab.send("Page.navigate", { url });
    await tab.until("document.readyState === 'complete' && location.href !== 'about:blank'");
    if (look.until !== undefined) await tab.until(look.until);
    const sideways = await tab.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    const text = await tab.value("document.body.innerText");
    // Evaluated from outside the page, so its Content-Security-Policy stays in force for everything else.
    await tab.value(`${look.axe}; true`);
    const violations = await tab.value(
      "axe.run(document).then(seen => seen.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target.join(' ')).join(', ')))",
    );
    if (look.screenshot !== undefined) {
      const shot = await tab.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true });
      await Bun.write(look.screenshot, Buffer.from(shot.data ?? "", "base64"));
    }
    return { sideways: Number(sideways), violations: violations as string[], errors: tab.errors, text: String(text) };
  } finally {
    tab.close();
    await fetch(`${endpoint}/json/close/${target.id}`);
  }
}

interface Tab {
  readonly errors: string[];
  send(method: string, params?: object): Promise<Reply>;
  value(expression: string): Promise<unknown>;
  until(expression: string): Promise<void>;
  close(): void;
}

async function openTab(url: string): Promise<Tab> {
  const socket = new WebSocket(url);
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
  return { errors, send, value, until, close: () => socket.close() };
}
