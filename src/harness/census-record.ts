// Everything a run starts and what descends from it, by pid and start time, before, during and after.
import {
  descendantsOf,
  isAlive,
  listeningPorts,
  type ProcessId,
  type ProcessRow,
  readProcess,
} from "../base/census.ts";
import type { Census, ProcessFact } from "../contract/report.ts";
import { Litter } from "./litter.ts";
import type { LiveFile } from "./live-file.ts";

export interface CensusOptions {
  readonly live: LiveFile | null;
  readonly wholeTree: boolean;
  /** The folders in which an interrupted sandbox leaves its mount points. */
  readonly litterFolders: readonly string[];
}

export class CensusRecord {
  readonly #options: CensusOptions;
  readonly #started = new Map<string, ProcessFact>();
  readonly #roles = new Map<number, string>();
  readonly #before: ProcessFact[];
  readonly #litter: Litter;
  readonly #timer: Timer;

  constructor(options: CensusOptions) {
    this.#options = options;
    this.#before = descendantsOf([process.pid]).map((row) => factOf(row, "before"));
    this.#litter = new Litter(options.litterFolders);
    this.#timer = setInterval(() => this.look(), 200);
    this.#timer.unref();
  }

  /** A process the run started itself. */
  note(id: ProcessId, role: string): void {
    this.#roles.set(id.pid, role);
    const row = readProcess(id.pid);
    this.#add({ pid: id.pid, start_ticks: id.startTicks, name: row?.name ?? role, role });
    this.#options.live?.note([id]);
  }

  /** Notes all that descends from this process now. */
  look(): void {
    const before = new Set(this.#before.map(keyOf));
    const living = descendantsOf([process.pid]).filter(
      (row) => row.state !== "Z" && !before.has(keyOf(factOf(row, ""))),
    );
    const fresh = living.filter((row) => !this.#started.has(keyOf(factOf(row, ""))));
    // Known ones too: what was noted before it became its program has that program's name by now.
    for (const row of living) this.#add(factOf(row, this.#roles.get(row.pid) ?? "descendant"));
    if (fresh.length > 0) this.#tryNote(fresh);
  }

  /** Everything started that is still there. */
  living(): ProcessId[] {
    this.look();
    return [...this.#started.values()].map((fact) => ({ pid: fact.pid, startTicks: fact.start_ticks })).filter(isAlive);
  }

  /** The last look; litter that the run made and left empty is removed. */
  close(): Census {
    const living = this.living();
    clearInterval(this.#timer);
    const visible = new Set(living.map((id) => `${id.pid}.${id.startTicks}`));
    const started = [...this.#started.values()];
    return {
      scope: this.#options.wholeTree ? "whole_tree" : "owned_group_only",
      before: this.#before.slice(0, 1000),
      started: started.slice(0, 1000),
      still_visible: started.filter((fact) => visible.has(keyOf(fact))).slice(0, 1000),
      listening_ports: living.flatMap((id) => listeningPorts(id.pid)).slice(0, 100),
      litter: this.#litter.collect(),
    };
  }

  #tryNote(fresh: readonly ProcessId[]): void {
    try {
      this.#options.live?.note(fresh);
    } catch {
      // No room for it: what these descend from is noted, so they are found all the same; the next note has them too.
    }
  }

  #add(fact: ProcessFact): void {
    this.#started.set(keyOf(fact), fact);
  }
}

function factOf(row: ProcessRow, role: string): ProcessFact {
  return { pid: row.pid, start_ticks: row.startTicks, name: row.name, role };
}

function keyOf(fact: ProcessFact): string {
  return `${fact.pid}.${fact.start_ticks}`;
}
