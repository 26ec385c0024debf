// What a person sees while a run goes on: on a terminal one living line a stage, its time running; elsewhere one plain
// line a phase. Rewriting happens on stderr alone, fits the terminal's width, and colours only where that is welcome.
import { tellRaw } from "./result.ts";

export interface ProgressScreen {
  /** True where a line can be rewritten. */
  readonly terminal: boolean;
  readonly colour: boolean;
  /** Asked for at each drawing: a terminal changes its width. */
  readonly columns: () => number;
  readonly write: (text: string) => void;
  readonly nowMs: () => number;
}

export interface AcceptProgress {
  stage(name: string): void;
  phase(name: string): void;
  /** Leaves the last line as it ended; nothing is drawn after it. */
  end(outcome?: "done" | "failed"): void;
}

/** Words for the phases that say more than their names. */
const phaseWords: Readonly<Record<string, string>> = {
  consumer_running: "a client reads two files over MCP",
  consumer_tool_receipt_verified: "what it read is compared with the bytes on disk",
  attempt_claimed: "a task is claimed",
  coding_run_bound: "a run is bound, the same start sent twice",
  observing_before_server_restart: "waiting until the agent is at work",
  before_server_restart: "the server is restarted under the running agent",
  server_recovered_original_run: "the server knows the same run again",
  observing_original_run: "watching the same run to its end",
};

/** Phases that end their stage, with the word it ends with. */
const endings: Readonly<Record<string, "passed" | "not passed">> = {
  consumer_accepted: "passed",
  consumer_failed: "not passed",
  managed_and_recovery_accepted: "passed",
  managed_accepted_recovery_incomplete: "not passed",
  managed_failed: "not passed",
  failed: "not passed",
};

const redrawMs = 200;
const colours: Readonly<Record<string, string>> = { passed: "\x1b[32m", "not passed": "\x1b[31m" };

export function acceptProgress(screen: ProgressScreen): AcceptProgress {
  return screen.terminal ? new LivingLines(screen) : new PlainLines(screen);
}

/** The screen of this process's stderr. */
export function stderrScreen(environment: Readonly<Record<string, string | undefined>>): ProgressScreen {
  const terminal = process.stderr.isTTY === true && environment["TERM"] !== "dumb";
  return {
    terminal,
    // Any value but an empty one asks for no colour, as no-color.org has it.
    colour: terminal && !environment["NO_COLOR"],
    columns: () => process.stderr.columns || Number(environment["COLUMNS"]) || 80,
    write: tellRaw,
    nowMs: () => performance.now(),
  };
}

/** For one who goes on after a living line that nobody ended any more. */
export function leaveLivingLine(screen: ProgressScreen): void {
  if (screen.terminal) screen.write("\n");
}

class PlainLines implements AcceptProgress {
  readonly #screen: ProgressScreen;
  readonly #startedMs: number;
  #last = "";

  constructor(screen: ProgressScreen) {
    this.#screen = screen;
    this.#startedMs = screen.nowMs();
  }

  stage(): void {
    // The phases say it all where lines stay.
  }

  phase(name: string): void {
    if (name === this.#last) return;
    this.#last = name;
    const { nowMs, write } = this.#screen;
    write(`${seconds(nowMs() - this.#startedMs)}  ${name.replaceAll("_", " ")}\n`);
  }

  end(): void {
    this.#last = "";
  }
}

class LivingLines implements AcceptProgress {
  readonly #screen: ProgressScreen;
  readonly #timer: Timer;
  #stage = "";
  #phase = "";
  #detail = "";
  #outcome: string | null = null;
  #startedMs = 0;

  constructor(screen: ProgressScreen) {
    this.#screen = screen;
    this.#timer = setInterval(() => this.#draw(), redrawMs);
    this.#timer.unref();
  }

  stage(name: string): void {
    this.#finish(this.#outcome ?? "done");
    this.#stage = name;
    this.#detail = "";
    this.#outcome = null;
    this.#startedMs = this.#screen.nowMs();
    this.#draw();
  }

  phase(name: string): void {
    if (name === this.#phase) return;
    this.#phase = name;
    if (Object.hasOwn(endings, name)) this.#outcome = endings[name] ?? null;
    this.#detail = phaseWords[name] ?? "";
    this.#draw();
  }

  end(outcome: "done" | "failed" = "done"): void {
    clearInterval(this.#timer);
    this.#finish(this.#outcome ?? (outcome === "done" ? "done" : "not passed"));
  }

  #finish(outcome: string): void {
    if (this.#stage === "") return;
    this.#show(outcome, this.#screen.colour ? (colours[outcome] ?? "") : "");
    this.#screen.write("\n");
    this.#stage = "";
  }

  #draw(): void {
    if (this.#stage !== "") this.#show(this.#outcome ?? this.#detail, "");
  }

  /** One column stays free: a full line would wrap, and a wrapped line cannot be rewritten. */
  #show(words: string, colour: string): void {
    const head = `  ${this.#stage.padEnd(10)}${seconds(this.#screen.nowMs() - this.#startedMs)}  `;
    const room = Math.max(1, this.#screen.columns() - 1);
    const tail = words.slice(0, Math.max(0, room - head.length));
    const coloured = colour === "" || tail === "" ? tail : `${colour}${tail}\x1b[0m`;
    this.#screen.write(`\r${head.slice(0, room)}${coloured}\x1b[K`);
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1).padStart(6)} s`;
}
