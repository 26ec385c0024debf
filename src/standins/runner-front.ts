// `standin runner`: the real embedded runner with one thing wrong. It stands between the runner and its server, and
// where the name asks for it between the runner and its agent.
import { isRecord } from "../base/json.ts";
import { standinLimits } from "./limits.ts";
import { type Frame, LinkBridge, type LinkTwist } from "./link-bridge.ts";
import type { RunnerMisbehaviour } from "./runner-misbehaviours.ts";

export interface RunnerFrontOptions {
  /** The server's own address, as the runner's configuration names it. */
  readonly serverUrl: string;
  readonly misbehave: RunnerMisbehaviour | "honest";
  /** Ends this stand-in and the runner behind it, at once. */
  readonly die: () => void;
  /** Called once the runner is back at its server, for the one that has something to do then. */
  readonly back?: () => void;
}

interface SocketData {
  readonly authorization: string;
  bridge: LinkBridge | null;
}

export interface RunnerFront {
  readonly url: string;
  close(): Promise<void>;
}

/** Listens where the runner behind is told that its server is. */
export function openRunnerFront(options: RunnerFrontOptions): RunnerFront {
  const far = `${options.serverUrl.replace(/^http/, "ws")}/api/agents/ws`;
  const twist = new Twist(options);
  const listener = Bun.serve<SocketData>({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    fetch(request, server) {
      const data = { authorization: request.headers.get("authorization") ?? "", bridge: null };
      return server.upgrade(request, { data }) ? undefined : new Response(null, { status: 426 });
    },
    websocket: {
      maxPayloadLength: standinLimits.maxLinkFrameBytes,
      open(socket) {
        socket.data.bridge = new LinkBridge(socket, { url: far, authorization: socket.data.authorization }, twist);
      },
      message: (socket, message) => socket.data.bridge?.takeFromRunner(String(message)),
      close: (socket) => socket.data.bridge?.close(),
    },
  });
  return { url: `http://127.0.0.1:${listener.port}`, close: () => listener.stop(true) };
}

class Twist implements LinkTwist {
  readonly #options: RunnerFrontOptions;
  #registered = 0;

  constructor(options: RunnerFrontOptions) {
    this.#options = options;
  }

  readonly toServer = async (frame: Frame, link: LinkBridge): Promise<Frame | null> => {
    await this.#pace();
    // A link begins with its registration; nothing legal comes before that.
    if (this.#options.misbehave === "honest-odd-frames" && frame.type !== "register") {
      link.sendToServer(JSON.stringify({ type: "an_event_of_tomorrow", anything: [null] }));
      return { ...frame, of_tomorrow: "one\u2028two" };
    }
    return frame;
  };

  readonly toRunner = async (frame: Frame): Promise<Frame | null> => {
    await this.#pace();
    const name = this.#options.misbehave;
    if (frame.type === "registered" && frame.success === true) {
      this.#registered += 1;
      if (this.#registered === 2) this.#options.back?.();
    }
    const asked = isRecord(frame.coding_agent) && frame.coding_agent.operation === "observe";
    const dies =
      (name === "dies-before-restart" && asked) || (name === "dies-during-run" && asked && this.#registered > 1);
    if (!dies) return frame;
    this.#options.die();
    return null;
  };

  readonly serverGone = (): void => {
    if (this.#options.misbehave === "dies-with-server" && this.#registered > 0) this.#options.die();
  };

  async #pace(): Promise<void> {
    if (this.#options.misbehave === "honest-slow") await Bun.sleep(100);
  }
}
