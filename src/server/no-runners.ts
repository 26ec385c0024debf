// A link for a server that no Runner can reach: nobody is connected and every request was not sent.
import type { RunnerLink } from "./runner-registry.ts";

export function noRunners(): RunnerLink {
  return {
    runners: () => [],
    runner: () => null,
    request: async () => ({ outcome: "offline" }),
    tokensChanged: async () => undefined,
    socketData: () => null,
    websocket: {
      open: (socket) => socket.close(1013, "no runners here"),
      message() {},
      close() {},
      maxPayloadLength: 1024,
    },
    close() {},
  };
}
