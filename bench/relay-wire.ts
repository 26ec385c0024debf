// The client's side of a relay under load: two pipes and one poll loop, so that the driver itself costs little and is
// the same for every relay that is measured.
import { closeSync } from "node:fs";
import { addressOf, Descriptors, pollFlags, type Sink, Watch, type Window } from "../src/base/descriptors.ts";
import { reopened } from "../src/relay/poll-carrier.ts";

const patienceMs = 20_000;
const scratch = Buffer.allocUnsafeSlow(1_048_576);

export class RelayWire {
  readonly #kernel: Descriptors;
  readonly #input: Sink;
  readonly #output: number;
  readonly #child: Bun.Subprocess;
  readonly #watch = new Watch(2);
  readonly #in: Window = { at: addressOf(scratch) as Window["at"], bytes: scratch.byteLength };
  readonly #out: Window = { at: 0 as Window["at"], bytes: 0 };

  /** Starts a relay whose stdin and stdout are this wire. */
  constructor(command: readonly string[]) {
    const kernel = Descriptors.open();
    const [input, output] = [kernel?.pipe(), kernel?.pipe()];
    if (kernel === null || input == null || output == null) throw new Error("the relay's bench needs Linux");
    this.#kernel = kernel;
    this.#input = { fd: reopened(input.writing), isSocket: false };
    this.#output = output.reading;
    this.#child = Bun.spawn([...command], {
      env: { PATH: "/usr/bin:/bin", HOME: "/" },
      stdio: [input.reading, output.writing, "ignore"],
    });
    for (const fd of [input.writing, input.reading, output.writing]) closeSync(fd);
  }

  /** Sends `bytes` over and over, `total` in all, and takes back as many; gives the milliseconds. */
  exchange(bytes: Buffer, total: number): number {
    const started = performance.now();
    let [sent, taken] = [0, 0];
    while (taken < total) {
      this.#watch.ask(0, this.#output, pollFlags.readable);
      this.#watch.ask(1, sent < total ? this.#input.fd : null, pollFlags.writable);
      if (this.#kernel.wait(this.#watch, patienceMs) <= 0) throw new Error("relay bench: nothing moves");
      if (this.#watch.answer(0) !== 0) {
        const count = this.#kernel.read(this.#output, this.#in);
        if (count <= 0) throw new Error("relay bench: output ended early");
        taken += count;
      }
      if (sent < total && this.#watch.answer(1) !== 0) sent += this.#send(bytes, { from: sent, total });
    }
    return performance.now() - started;
  }

  /** How much of `total` bytes is taken before nothing has moved for half a second. */
  push(bytes: Buffer, total: number): number {
    let sent = 0;
    while (sent < total) {
      this.#watch.ask(0, null, 0);
      this.#watch.ask(1, this.#input.fd, pollFlags.writable);
      if (this.#kernel.wait(this.#watch, 500) <= 0) break;
      sent += this.#send(bytes, { from: sent, total });
    }
    return sent;
  }

  /** Closes the input and waits for the end. */
  async end(signal?: NodeJS.Signals): Promise<void> {
    closeSync(this.#input.fd);
    if (signal !== undefined) this.#child.kill(signal);
    await this.#child.exited;
    closeSync(this.#output);
  }

  #send(bytes: Buffer, where: { readonly from: number; readonly total: number }): number {
    const offset = where.from % bytes.byteLength;
    this.#out.at = (addressOf(bytes) + offset) as Window["at"];
    this.#out.bytes = Math.min(bytes.byteLength - offset, where.total - where.from);
    return Math.max(0, this.#kernel.write(this.#input, this.#out));
  }
}
