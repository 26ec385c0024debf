// The runner link passed on frame by frame, so that a stand-in can stand in it: each frame may be changed, dropped or
// answered. Frames that arrive before the far end is open wait for it, in order.
import { isRecord, parseJson } from "../base/json.ts";

export type Frame = Record<string, unknown>;

/** What a stand-in does with frames; null drops one. Absent: every frame goes on as it came. */
export interface LinkTwist {
  readonly toServer?: (frame: Frame, link: LinkBridge) => Frame | null | Promise<Frame | null>;
  readonly toRunner?: (frame: Frame, link: LinkBridge) => Frame | null | Promise<Frame | null>;
  readonly serverGone?: () => void;
}

type Near = { send(text: string): unknown; close(code?: number, reason?: string): unknown };

export class LinkBridge {
  readonly #near: Near;
  readonly #far: WebSocket;
  readonly #twist: LinkTwist;
  readonly #early: string[] = [];
  #up: Promise<void> = Promise.resolve();
  #down: Promise<void> = Promise.resolve();

  /** `near` is the runner's socket; the server's end is opened here, with the runner's own credential. */
  constructor(near: Near, far: { readonly url: string; readonly authorization: string }, twist: LinkTwist) {
    this.#near = near;
    this.#twist = twist;
    const headers = { authorization: far.authorization };
    this.#far = new WebSocket(far.url, { headers } as unknown as string[]);
    this.#far.onopen = () => {
      for (const text of this.#early.splice(0)) this.#far.send(text);
    };
    this.#far.onmessage = (event) => this.#takeFromServer(String(event.data));
    this.#far.onerror = () => undefined; // The close that follows is what counts.
    this.#far.onclose = () => {
      near.close(1001, "server gone");
      twist.serverGone?.();
    };
  }

  /** A frame of the runner's. */
  takeFromRunner(text: string): void {
    this.#up = this.#up.then(async () => {
      const frame = await changed(text, this.#twist.toServer, this);
      if (frame !== null) this.sendToServer(frame);
    });
  }

  sendToServer(text: string): void {
    if (this.#far.readyState === WebSocket.CONNECTING) this.#early.push(text);
    else if (this.#far.readyState === WebSocket.OPEN) this.#far.send(text);
  }

  sendToRunner(text: string): void {
    this.#near.send(text);
  }

  close(): void {
    this.#far.close();
  }

  #takeFromServer(text: string): void {
    this.#down = this.#down.then(async () => {
      const frame = await changed(text, this.#twist.toRunner, this);
      if (frame !== null) this.sendToRunner(frame);
    });
  }
}

async function changed(text: string, change: LinkTwist["toServer"], link: LinkBridge): Promise<string | null> {
  if (change === undefined) return text;
  const frame = parseJson(text);
  if (!isRecord(frame)) return text;
  const after = await change(frame, link);
  return after === null ? null : JSON.stringify(after);
}
