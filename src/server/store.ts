// The server's one database: every acknowledged write is on disk, writes that come together share one commit.
// `write` resolves after the commit; a throwing `fn` undoes only its own part. `read` sees committed rows only.
// A commit waits for as many callers as the last one served, never longer than half the time that one took.
import { Database } from "bun:sqlite";
import { Failure } from "../base/failure.ts";
import type { ServerCode } from "./codes.ts";
import { serverLimits } from "./limits.ts";
import { migrate, stepsOf } from "./migrations.ts";

export type { Database } from "bun:sqlite";

export interface StoreCounters {
  readonly commits: number;
  readonly writes: number;
  readonly failedCommits: number;
}

interface Pending {
  readonly run: (db: Database) => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (reason: unknown) => void;
}

/** Opens the database file, applies missing migrations and returns the store. */
export function openStore(path: string, options: { readonly wallMs: number }): Store {
  let db: Database;
  try {
    db = new Database(path, { create: true, readwrite: true, strict: true });
  } catch (error) {
    throw new Failure<ServerCode>("store_unreadable", { cause: error });
  }
  try {
    db.run("PRAGMA busy_timeout = 5000");
    // Read first: the journal mode is kept in the file, and a file of another program stays as it is.
    stepsOf(db);
    checkPages(db);
    db.run("PRAGMA journal_mode = WAL");
    db.run("PRAGMA synchronous = FULL");
    db.run("PRAGMA foreign_keys = ON");
    migrate(db, options.wallMs);
  } catch (error) {
    db.close();
    throw error instanceof Failure ? error : new Failure<ServerCode>("store_unreadable", { cause: error });
  }
  return new Store(db);
}

/** A small database is read whole before it is used; a large one is left to `server check`. */
function checkPages(db: Database): void {
  const count = (name: string) => Number(Object.values(db.query(`PRAGMA ${name}`).get() as object)[0]);
  if (count("page_count") * count("page_size") > serverLimits.checkedAtStartBytes) return;
  const verdict = db.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get();
  if (verdict?.quick_check !== "ok") throw new Failure<ServerCode>("store_unreadable");
}

export class Store {
  readonly #db: Database;
  #queue: Pending[] = [];
  #scheduled = false;
  #closed = false;
  #lastBatch = 1;
  #lastCommitMs = 0;
  #commits = 0;
  #writes = 0;
  #failedCommits = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Runs `fn` inside the next group commit. Rejections of `fn` are its own; a failed commit is `store_uncertain`. */
  write<T>(fn: (db: Database) => T): Promise<T> {
    if (this.#closed) return Promise.reject(new Failure<ServerCode>("store_unavailable"));
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ run: fn, resolve: resolve as Pending["resolve"], reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      const lastMs = performance.now() + Math.min(this.#lastCommitMs / 2, serverLimits.maxCommitWaitMs);
      setImmediate(() => this.#gather(lastMs));
    });
  }

  /** Reads committed rows. */
  async read<T>(fn: (db: Database) => T): Promise<T> {
    if (this.#closed) throw new Failure<ServerCode>("store_unavailable");
    return fn(this.#db);
  }

  counters(): StoreCounters {
    return { commits: this.#commits, writes: this.#writes, failedCommits: this.#failedCommits };
  }

  /** Commits what is queued and closes the file. */
  close(): void {
    if (this.#closed) return;
    this.#commit();
    this.#closed = true;
    this.#db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    this.#db.close();
  }

  /** Callers answered by the last commit tend to be back at once: a commit each would cost all of them more. */
  #gather(lastMs: number): void {
    if (this.#queue.length < this.#lastBatch && performance.now() < lastMs) setImmediate(() => this.#gather(lastMs));
    else this.#commit();
  }

  #commit(): void {
    this.#scheduled = false;
    const batch = this.#queue;
    if (batch.length === 0) return;
    this.#queue = [];
    const startedMs = performance.now();
    try {
      this.#db.run("BEGIN IMMEDIATE");
    } catch (error) {
      this.#refuseAll(batch, "store_unavailable", error);
      return;
    }
    const settle: Array<() => void> = [];
    try {
      for (const pending of batch) settle.push(this.#runOne(pending));
      this.#db.run("COMMIT");
    } catch (error) {
      this.#rollback();
      this.#refuseAll(batch, "store_uncertain", error);
      return;
    }
    this.#lastBatch = batch.length;
    this.#lastCommitMs = performance.now() - startedMs;
    this.#commits += 1;
    this.#writes += batch.length;
    for (const answer of settle) answer();
  }

  /** One caller's part behind a savepoint of its own. */
  #runOne(pending: Pending): () => void {
    this.#db.run("SAVEPOINT one");
    try {
      const value = pending.run(this.#db);
      this.#db.run("RELEASE one");
      return () => pending.resolve(value as never);
    } catch (error) {
      this.#db.run("ROLLBACK TO one");
      this.#db.run("RELEASE one");
      // A disk that takes no more is no answer of the caller's own; its part was undone whole.
      const told = diskRefused(error) ? new Failure<ServerCode>("store_unavailable", { cause: error }) : error;
      return () => pending.reject(told);
    }
  }

  #rollback(): void {
    try {
      if (this.#db.inTransaction) this.#db.run("ROLLBACK");
    } catch {
      // SQLite has already rolled back by itself; the callers are told "uncertain" either way.
    }
  }

  #refuseAll(batch: readonly Pending[], code: ServerCode, cause: unknown): void {
    this.#failedCommits += 1;
    for (const pending of batch) pending.reject(new Failure<ServerCode>(code, { cause }));
  }
}

const diskTrouble = /^SQLITE_(?:FULL|IOERR|READONLY|CORRUPT|NOTADB|CANTOPEN)/;

function diskRefused(error: unknown): boolean {
  return diskTrouble.test(String((error as { code?: unknown }).code));
}
