// What the server really served: one row per item, committed before the answer that carries it leaves.
import type { Database } from "./store.ts";

export interface Receipt {
  readonly tokenId: string;
  readonly tool: string;
  readonly project: string;
  readonly path: string;
  readonly textSha256: string;
  readonly servedAt: number;
}

export function addReceipts(db: Database, receipts: readonly Receipt[]): void {
  const insert = db.query(
    "INSERT INTO tool_receipts (token_id, tool, project, path, text_sha256, served_at) VALUES (?, ?, ?, ?, ?, ?)",
  );
  for (const row of receipts) insert.run(row.tokenId, row.tool, row.project, row.path, row.textSha256, row.servedAt);
}

export function listReceipts(db: Database, limit: number): Array<Record<string, unknown>> {
  return db
    .query<Record<string, unknown>, [number]>(
      "SELECT token_id, tool, project, path, text_sha256, served_at FROM tool_receipts ORDER BY receipt_id DESC LIMIT ?",
    )
    .all(limit)
    .reverse();
}
