// Credentials in what programs print: found in every written form and across pieces, kept as names only.
import { expect, test } from "bun:test";
import { utf8 } from "../../src/base/bytes.ts";
import { notePrinted, type PrintedWatch, printedStream } from "../../src/harness/printed.ts";

const secret = "Zm9vYmFyLXNlY3JldC0xMjM0NTY3ODkwYWJjZGVmZ2hp";

function watch(): PrintedWatch {
  return {
    canaries: [
      { id: "operator-token", where: "credential", text: secret },
      { id: "prompt", where: "prompt", text: "a mark" },
    ],
    printed: [],
  };
}

test("raw, hex and base64 are found, once a channel, and prompt marks are none of its business", () => {
  const run = watch();
  notePrinted(run, "server_log", utf8(`started with ${secret}, again ${secret}, a mark`));
  notePrinted(run, "server_log", utf8(secret));
  notePrinted(run, "runner_log", utf8(Buffer.from(secret).toString("hex")));
  notePrinted(run, "consumer_stdout", utf8(Buffer.from(`xx${secret}`).toString("base64")));
  notePrinted(run, "consumer_stderr", utf8(secret.slice(1)));
  expect(run.printed).toEqual([
    { id: "operator-token", channel: "server_log" },
    { id: "operator-token", channel: "runner_log" },
    { id: "operator-token", channel: "consumer_stdout" },
  ]);
});

test("a credential cut between two pieces of a stream is found", () => {
  const run = watch();
  const look = printedStream(run, "consumer_stderr");
  look(utf8(`before ${secret.slice(0, 10)}`));
  expect(run.printed).toEqual([]);
  look(utf8(`${secret.slice(10)} after`));
  expect(run.printed).toEqual([{ id: "operator-token", channel: "consumer_stderr" }]);
});
