// Work on a data folder from outside the server process: tokens, a check and a copy. The database may be in use;
// SQLite keeps both sides apart, and a token revoked here counts on the running server's next request.
import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { Failure } from "../base/failure.ts";
import { checkPrivateFolder, createPrivateFile } from "../base/private-files.ts";
import type { RandomBytes } from "../base/random.ts";
import { isScope, type Scope } from "../contract/scopes.ts";
import type { ServerCode } from "./codes.ts";
import { databasePathOf } from "./data-folder.ts";
import { migrations } from "./migrations.ts";
import { openStore, type Store } from "./store.ts";
import { addToken, listTokens, type MadeToken, revokeToken, type TokenFacts } from "./tokens.ts";
import { addUser, userByName } from "./users.ts";

function existingDatabase(folder: string): string {
  try {
    checkPrivateFolder(folder);
  } catch (error) {
    throw new Failure<ServerCode>("server_data_unusable", { cause: error });
  }
  const path = databasePathOf(folder);
  if (!existsSync(path)) throw new Failure<ServerCode>("store_unreadable");
  return path;
}

async function withStore<T>(
  folder: string,
  options: { wallMs: number; use: (store: Store) => Promise<T> },
): Promise<T> {
  const store = openStore(existingDatabase(folder), { wallMs: options.wallMs });
  try {
    return await options.use(store);
  } finally {
    store.close();
  }
}

export interface TokenWish {
  readonly username: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createUser: boolean;
  readonly expiresAt: number | null;
}

/** Makes a token for a user of this folder; the text is in the returned value only. */
export function operatorCreateToken(
  folder: string,
  wish: TokenWish,
  moment: { readonly wallMs: number; readonly random: RandomBytes },
): Promise<MadeToken> {
  const nowSeconds = Math.floor(moment.wallMs / 1000);
  const options = { random: moment.random, nowSeconds };
  const past = wish.expiresAt !== null && wish.expiresAt <= nowSeconds;
  if (past || !wish.scopes.every(isScope) || !/^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/.test(wish.username))
    return Promise.reject(new Failure<ServerCode>("token_invalid"));
  return withStore(folder, {
    wallMs: moment.wallMs,
    use: (store) =>
      store.write((db) => {
        let user = userByName(db, wish.username);
        if (user === null && wish.createUser) {
          const added = addUser(db, { username: wish.username, displayName: null, role: "user" }, options);
          user = typeof added === "string" ? null : added;
        }
        if (user === null || user.disabled) throw new Failure<ServerCode>("token_invalid");
        const scopes = [...new Set(wish.scopes)] as Scope[];
        const made = addToken(
          db,
          { kind: "pat", name: wish.name, user, scopes, allowedClientId: null, expiresAt: wish.expiresAt },
          options,
        );
        if (made === "full") throw new Failure<ServerCode>("token_invalid");
        return made;
      }),
  });
}

export function operatorListTokens(folder: string, wallMs: number): Promise<TokenFacts[]> {
  const list = (db: Database) => listTokens(db, Math.floor(wallMs / 1000));
  return withStore(folder, { wallMs, use: (store) => store.read(list) });
}

export function operatorRevokeToken(folder: string, tokenId: string, wallMs: number): Promise<void> {
  return withStore(folder, {
    wallMs,
    use: (store) =>
      store.write((db) => {
        if (!revokeToken(db, tokenId, Math.floor(wallMs / 1000))) throw new Failure<ServerCode>("token_unknown");
      }),
  });
}

export interface CheckReport {
  readonly sound: boolean;
  readonly schema: number;
  readonly pending_migrations: number;
  readonly rows: Readonly<Record<string, number>>;
}

/** Reads the whole database without changing it. */
export function checkData(folder: string): CheckReport {
  const path = existingDatabase(folder);
  try {
    const db = new Database(path, { readonly: true, strict: true });
    try {
      db.run("PRAGMA busy_timeout = 5000");
      const verdict = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check").all();
      const broken = db.query("PRAGMA foreign_key_check").all();
      const done = db.query<{ version: number }, []>("SELECT version FROM migrations ORDER BY version").all();
      const tables = db
        .query<{ name: string }, []>(
          "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
        )
        .all();
      const rows = tables.map(({ name }) => [
        name,
        db.query<{ n: number }, []>(`SELECT count(*) AS n FROM "${name}"`).get()?.n ?? 0,
      ]);
      return {
        sound: verdict.length === 1 && verdict[0]?.integrity_check === "ok" && broken.length === 0,
        schema: done.at(-1)?.version ?? 0,
        pending_migrations: migrations.length - done.length,
        rows: Object.fromEntries(rows) as Record<string, number>,
      };
    } finally {
      db.close();
    }
  } catch (error) {
    throw new Failure<ServerCode>("store_unreadable", { cause: error });
  }
}

/** A consistent copy, also of a database in use; never over an existing file. */
export function backupData(folder: string, target: string): { readonly bytes: number } {
  const path = existingDatabase(folder);
  if (existsSync(target)) throw new Failure<ServerCode>("backup_exists");
  try {
    createPrivateFile(target, "");
    const db = new Database(path, { readwrite: true, strict: true });
    try {
      db.run("PRAGMA busy_timeout = 5000");
      db.query("VACUUM INTO ?").run(target);
    } finally {
      db.close();
    }
    return { bytes: Bun.file(target).size };
  } catch (error) {
    throw new Failure<ServerCode>("backup_failed", { cause: error });
  }
}
