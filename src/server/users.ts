// Users: names the operator gave. A user is never removed; a disabled one keeps its rows and loses every right.
import type { RandomBytes } from "../base/random.ts";
import { newId } from "../contract/ids.ts";
import { serverLimits } from "./limits.ts";
import type { Database } from "./store.ts";

export interface User {
  readonly id: string;
  readonly username: string;
  readonly display_name: string | null;
  readonly role: string;
  readonly disabled: boolean;
  readonly disabled_at: number | null;
  readonly created_at: number;
  readonly updated_at: number;
}

interface UserRow {
  readonly user_id: string;
  readonly username: string;
  readonly display_name: string | null;
  readonly role: string;
  readonly disabled_at: number | null;
  readonly created_at: number;
  readonly updated_at: number;
}

function toUser(row: UserRow): User {
  const { user_id, disabled_at, ...rest } = row;
  return { id: user_id, ...rest, disabled: disabled_at !== null, disabled_at };
}

export function userByName(db: Database, username: string): User | null {
  const row = db.query<UserRow, [string]>("SELECT * FROM users WHERE username = ?").get(username);
  return row === null ? null : toUser(row);
}

export interface NewUser {
  readonly username: string;
  readonly displayName: string | null;
  readonly role: "user" | "admin";
}

/** Adds a user; "exists" and "full" change nothing. */
export function addUser(
  db: Database,
  user: NewUser,
  options: { readonly random: RandomBytes; readonly nowSeconds: number },
): User | "exists" | "full" {
  if (userByName(db, user.username) !== null) return "exists";
  const total = db.query<{ n: number }, []>("SELECT count(*) AS n FROM users").get()?.n ?? 0;
  if (total >= serverLimits.maxUsers) return "full";
  const id = newId("user", options.random);
  db.query(
    "INSERT INTO users (user_id, username, display_name, role, disabled_at, created_at, updated_at) VALUES (?, ?, ?, ?, NULL, ?, ?)",
  ).run(id, user.username, user.displayName, user.role, options.nowSeconds, options.nowSeconds);
  return userByName(db, user.username)!;
}
