// Saves one payload in this process, sending nothing, and gives the report as it lies in the outbox.
import { readdirSync, readFileSync, unlinkSync } from "node:fs";
import { utf8 } from "../../src/base/bytes.ts";
import { observe } from "../../src/hooks/observe.ts";
import type { Desk } from "./desk.ts";

export async function observed(d: Desk, changes: Record<string, unknown>): Promise<Record<string, unknown>> {
  const input = { bytes: utf8(d.payload(changes)), overLimit: false, ended: true };
  const result = await observe(input, { configPath: d.configPath, deliver: "background", startFlush() {} });
  if (result.status !== "saved") throw new Error(JSON.stringify(result));
  const [name] = readdirSync(d.state).filter((one) => /^[0-9a-f]{64}\.json$/.test(one));
  const path = `${d.state}/${name}`;
  const record = JSON.parse(readFileSync(path, "utf8")) as { event: Record<string, unknown> };
  unlinkSync(path);
  return record.event;
}
