// The compiled executable on a real pseudo-terminal of a given width; what it wrote there, once it has ended.
import { proctorBinary } from "../support/binary.ts";

export interface TerminalRun {
  readonly code: number;
  /** Everything written to the terminal, carriage returns and escapes included. */
  readonly raw: string;
  /** The lines as written, without escapes. */
  readonly lines: readonly string[];
}

export interface TerminalOptions {
  readonly columns: number;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Started through this program, e.g. one that sets a umask first. */
  readonly through?: readonly string[];
}

export async function runOnTerminal(words: readonly string[], options: TerminalOptions): Promise<TerminalRun> {
  const decoder = new TextDecoder();
  let raw = "";
  const child = Bun.spawn([...(options.through ?? []), proctorBinary, ...words], {
    cwd: options.cwd,
    env: { ...options.env },
    terminal: {
      cols: options.columns,
      rows: 24,
      data: (_terminal: unknown, bytes: Uint8Array) => {
        raw += decoder.decode(bytes, { stream: true });
      },
    },
  });
  const code = await child.exited;
  child.terminal?.close();
  const plain = raw.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "");
  return { code, raw, lines: plain.split(/\r?\n|\r/) };
}
