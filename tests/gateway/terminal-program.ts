// A program in a pseudo-terminal, for tests of what a person would see: its screen as plain text, keys as a person
// presses them, and the answers that a real terminal gives to a program that asks about it.
import { holdsWithin } from "../../src/base/clock.ts";

export interface TerminalProgram extends AsyncDisposable {
  /** All that was shown so far, without escape sequences and without blanks: a redraw may move words apart. */
  shown(): string;
  /** Waits until `text`, blanks aside, was shown after `since` characters of `shown()`. */
  sees(text: string, since?: number): Promise<void>;
  press(keys: string): void;
  readonly exited: Promise<number>;
}

export interface TerminalOptions {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly withinMs?: number;
}

// Each query and what a plain terminal says to it.
const queries: ReadonlyArray<readonly [RegExp, string]> = [
  [/\x1b\[6n/g, "\x1b[1;1R"],
  [/\x1b\[c/g, "\x1b[?62c"],
  [/\x1b\[\?u/g, "\x1b[?0u"],
  [/\x1b\]10;\?/g, "\x1b]10;rgb:ffff/ffff/ffff\x1b\\"],
  [/\x1b\]11;\?/g, "\x1b]11;rgb:0000/0000/0000\x1b\\"],
];

export function openTerminal(options: TerminalOptions): TerminalProgram {
  const decoder = new TextDecoder();
  const withinMs = options.withinMs ?? 60_000;
  let raw = "";
  const child = Bun.spawn([...options.command], {
    cwd: options.cwd,
    env: { ...options.env, TERM: "xterm-256color" },
    terminal: {
      cols: 120,
      rows: 40,
      data(terminal, data) {
        const text = decoder.decode(data, { stream: true });
        raw += text;
        for (const [query, answer] of queries) for (const _ of text.matchAll(query)) terminal.write(answer);
      },
    },
  });
  const shown = () => plain(raw);
  return {
    shown,
    async sees(text, since = 0) {
      const wanted = text.replace(/\s+/g, "");
      const there = () => shown().slice(since).includes(wanted);
      if (!(await holdsWithin(there, { withinMs, everyMs: 50 })))
        throw new Error(`"${text}" was not shown; the end of what was: ${shown().slice(-1500)}`);
    },
    press: (keys) => void child.terminal!.write(keys),
    exited: child.exited,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      child.terminal!.close();
    },
  };
}

function plain(raw: string): string {
  return raw
    .replace(/\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g, "")
    .replace(/\x1b[[(][0-9;?<>=]*[ -/]*[@-~]/g, "")
    .replace(/[\x00-\x20\x7f]+/g, "");
}
