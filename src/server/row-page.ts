// Pages of rows in a fixed order: how many there are, which were given, and where the next page begins.
import type { Database } from "./store.ts";
import { succeed, type ToolResult } from "./tool.ts";

export interface RowQuery {
  /** `FROM` and `WHERE` with ?1, ?2 … for `bound`; fixed text of the program, never a caller's. */
  readonly from: string;
  readonly order: string;
  readonly bound: readonly (string | null)[];
  readonly offset: number;
  readonly limit: number;
}

export interface RowPage<Row> {
  readonly total: number;
  readonly rows: readonly Row[];
  readonly offset: number;
}

export function pageOf<Row>(db: Database, query: RowQuery): RowPage<Row> {
  const { from, order, bound, offset, limit } = query;
  const total = db.query<{ n: number }, (string | null)[]>(`SELECT count(*) AS n ${from}`).get(...bound)?.n ?? 0;
  const next = bound.length + 1;
  const rows = db
    .query<Row, (string | number | null)[]>(`SELECT * ${from} ORDER BY ${order} LIMIT ?${next} OFFSET ?${next + 1}`)
    .all(...bound, limit, offset);
  return { total, rows, offset };
}

/** The page as list tools answer it, its rows under `name`. */
export function pageAnswer<Row>(page: RowPage<Row>, name: string, wire: (row: Row) => unknown): ToolResult {
  const end = page.offset + page.rows.length;
  return succeed({
    total_count: page.total,
    offset: page.offset,
    next_offset: end < page.total ? end : null,
    truncated: end < page.total,
    [name]: page.rows.map(wire),
  });
}
