// The sessions printed in the docs (```console blocks) are run as printed: each `$ ` line by a shell on a pseudo-terminal
// in an empty folder that holds only the executable as ./proctor; what it shows must contain the printed lines in their
// order. Numbers, run names and digests may differ; a line of `…` stands for any lines, a `…` at a line's end for its
// rest.
//   bun scripts/doc-sessions.ts README.md           say whether it still holds
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export interface Step {
  readonly command: string;
  readonly printed: readonly string[];
}

export interface Session {
  readonly line: number;
  readonly steps: readonly Step[];
}

export interface Block {
  readonly language: string;
  /** Line of the fence, from 1. */
  readonly line: number;
  readonly text: string;
}

/** Every fenced block of a page. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; line: number; text: string[] } | null = null;
  for (const [at, line] of page.split("\n").entries()) {
    const fence = /^\s*```(.*)$/.exec(line);
    if (fence === null) open?.text.push(line);
    else if (open === null) open = { language: fence[1]!.trim(), line: at + 1, text: [] };
    else {
      blocks.push({ ...open, text: open.text.join("\n") });
      open = null;
    }
  }
  if (open !== null) throw new Error(`the block of line ${open.line} has no end`);
  return blocks;
}

/** The sessions of a page. A block that begins with something else than a command is none. */
export function sessionsOf(page: string): Session[] {
  return blocksOf(page)
    .filter((block) => block.language === "console")
    .map(({ line, text }) => {
      const steps: Array<{ command: string; printed: string[] }> = [];
      for (const one of text.split("\n")) {
        if (one.startsWith("$ ")) steps.push({ command: one.slice(2), printed: [] });
        else if (steps.length === 0) throw new Error(`line ${line}: a session begins with a command`);
        else if (one.trim() !== "") steps.at(-1)!.printed.push(one.trimEnd());
      }
      return { line, steps };
    });
}

/** What is left of a line when all that differs from run to run is taken out. */
export function shapeOf(line: string): string {
  return line
    .replace(/[0-9a-f]{64}/g, "<digest>")
    .replace(/proctor-\d{8}T\d{6}Z-[0-9a-f]{6}/g, "<run>")
    .replace(/\S*\/(?=<run>|first-run)/g, "")
    .replace(/\d+(?:\.\d+)*/g, "N")
    .replace(/\s+/g, " ")
    .trim();
}

/** The first printed line that was not shown in its place, or null. */
export function missing(printed: readonly string[], shown: readonly string[]): string | null {
  const shapes = shown.map(shapeOf);
  let at = 0;
  for (const line of printed) {
    if (line.trim() === "…") continue;
    const wanted = shapeOf(line);
    const found = shapes.findIndex(
      (shape, n) =>
        n >= at && (wanted.endsWith("…") ? shape.startsWith(wanted.slice(0, -1).trimEnd()) : shape === wanted),
    );
    if (found < 0) return line;
    at = found + 1;
  }
  return null;
}

/** Lines as they stand on the screen in the end: a rewritten line counts as last written. */
export function screenOf(raw: string): string[] {
  const plain = raw.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "");
  return plain.split(/\r?\n/).map((line) => line.split("\r").at(-1)!.trimEnd());
}

/** Runs a session and gives what differs, in words, or null. */
export async function playSession(session: Session, binary: string): Promise<string | null> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "proctor-session-")));
  const home = join(folder, ".home");
  mkdirSync(home, { mode: 0o700 });
  symlinkSync(resolve(binary), join(folder, "proctor"));
  const env = { PATH: "/usr/bin:/bin", HOME: home, TMPDIR: home, TERM: "xterm", NO_COLOR: "1", LANG: "C.UTF-8" };
  try {
    for (const { command, printed } of session.steps) {
      const shown = screenOf(await onTerminal(command, { cwd: folder, env }));
      const lost = missing(printed, shown);
      if (lost !== null) return `\`${command}\` did not show \`${lost}\` in its place, but\n${shown.join("\n")}`;
    }
    return null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function onTerminal(command: string, place: { cwd: string; env: Record<string, string> }): Promise<string> {
  const decoder = new TextDecoder();
  let raw = "";
  const child = Bun.spawn(["/bin/sh", "-c", command], {
    ...place,
    terminal: {
      cols: 160,
      rows: 50,
      data: (_terminal: unknown, bytes: Uint8Array) => {
        raw += decoder.decode(bytes, { stream: true });
      },
    },
  });
  await child.exited;
  child.terminal?.close();
  return raw;
}

if (import.meta.main) {
  const root = `${import.meta.dir}/..`;
  for (const page of process.argv.slice(2)) {
    for (const session of sessionsOf(readFileSync(page, "utf8"))) {
      const differs = await playSession(session, `${root}/dist/proctor`);
      process.stdout.write(`${page}:${session.line} ${differs ?? "holds"}\n`);
      if (differs !== null) process.exitCode = 1;
    }
  }
}
