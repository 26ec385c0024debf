// biome-ignore-all lint/suspicious/noExplicitAny: answers are looked into by tests, which fail on anything else.
// A coordinator whose upstream the test plays itself: nothing happens but what the test says.
import { Coordinator, type CoordinatorOptions } from "../../src/gateway/coordinator.ts";
import { type Permission, presets } from "../../src/gateway/permissions.ts";
import type { Session } from "../../src/gateway/session.ts";
import type { UpstreamEvents } from "../../src/gateway/upstream.ts";

export interface PlayedClient {
  readonly session: Session;
  readonly inbox: Array<Record<string, any>>;
  readonly closed: number[];
  send(message: unknown): void;
  leave(): void;
}

export async function playedCoordinator(more: Partial<CoordinatorOptions> = {}) {
  const sent: Array<Record<string, any>> = [];
  let events: UpstreamEvents | null = null;
  const coordinator = new Coordinator({
    clientHome: "/home",
    upstream: (opened) => {
      events = opened;
      return Promise.resolve({
        send(text) {
          const message = JSON.parse(text);
          if (message.method === "initialize") opened.message(JSON.stringify({ id: message.id, result: {} }));
          else if (message.method !== "initialized") sent.push(message);
        },
        close: () => Promise.resolve(true),
      });
    },
    ...more,
  });
  const client = async (
    clientId: string,
    rights: readonly Permission[] = presets.interactive,
  ): Promise<PlayedClient> => {
    const inbox: Array<Record<string, any>> = [];
    const closed: number[] = [];
    const session = coordinator.attach({
      clientId,
      rights: new Set(rights),
      send: (bytes) => void inbox.push(JSON.parse(textOf(bytes))),
      close: (code) => {
        closed.push(code);
        coordinator.detach(session);
      },
    });
    const send = (message: unknown) => {
      coordinator.receive(session, typeof message === "string" ? message : JSON.stringify(message));
    };
    send({ id: "hello", method: "initialize", params: {} });
    while (inbox.length < 2) await Promise.resolve(); // only promises stand between the two
    send({ method: "initialized" });
    inbox.length = 0;
    return { session, inbox, closed, send, leave: () => coordinator.detach(session) };
  };
  return {
    coordinator,
    sent,
    client,
    /** The upstream says this. */
    say: (message: unknown) => events?.message(typeof message === "string" ? message : JSON.stringify(message)),
    end: () => events?.closed(),
    /** Lets the client follow the thread, as a resume does. */
    resume(one: PlayedClient, threadId: string) {
      one.send({ id: "resume", method: "thread/resume", params: { threadId } });
      events?.message(JSON.stringify({ id: sent.at(-1)!.id, result: { thread: { id: threadId } } }));
    },
  };
}

function textOf(frame: Buffer): string {
  const short = frame[1]! & 127;
  return frame.toString("utf8", short < 126 ? 2 : short === 126 ? 4 : 10);
}
