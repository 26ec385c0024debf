// An audit file that is nearly full, without the cost of syncing thousands of records.
import { chainedLine, chainStart } from "../../src/contract/audit-chain.ts";

/** What an earlier relay left: valid records of just over this many bytes, written at once and not one by one. */
export function earlierRun(bytes: number): string {
  const lines: string[] = [];
  let chain = chainStart(new Uint8Array(0));
  const add = (event: string, fields: string): void => {
    const common = `"event":"${event}","time_ns":1,"segment":"00000000000000aa","seq":${lines.length + 1}`;
    const next = chainedLine(chain, `{${common},${fields}}`);
    chain = next.chain;
    lines.push(next.line);
  };
  add("adapter_process_started", '"pid":2,"relay_pid":3,"after_bytes":0');
  const name = "n".repeat(100);
  for (let length = 0; length < bytes; length += (lines.at(-1) ?? "").length + 1) {
    add("adapter_identity", `"name":"${name}","version":"1"`);
  }
  add("adapter_process_exited", '"exit_code":0,"stderr_drained":true,"stderr_bytes":0,"diagnostics":{}');
  return `${lines.join("\n")}\n`;
}
