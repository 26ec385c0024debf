// RFC 6455 through real sockets, the same table on TCP and on a Unix socket, a connection for each case.
import { expect, test } from "bun:test";
import { echoUpstream } from "../../bench/gateway-server.ts";
import { holdsWithin } from "../../src/base/clock.ts";
import { openGateway } from "../../src/gateway/gateway.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { frameCases } from "./frame-cases.ts";
import { masked, maskedText, RawClient, type ServerFrame } from "./raw-frames.ts";

const names: Record<number, string> = { 1: "text", 8: "close", 10: "pong" };

function shown({ opcode, payload }: ServerFrame): string {
  if (opcode === 8) return `close:${payload.length >= 2 ? payload.readUInt16BE(0) : "none"}`;
  if (opcode !== 1) return `${names[opcode] ?? opcode}:${payload.toString("utf8")}`;
  const message = JSON.parse(payload.toString("utf8"));
  return message.error === undefined ? `echo:${message.result.text}` : message.error.data.name;
}

for (const kind of ["tcp", "unix"] as const) {
  test(`G164 G165 G166 G167 ${frameCases.length} frame cases of RFC 6455 on ${kind}`, async () => {
    await using dir = await tempFolder();
    const { gateway, bootstrap } = openGateway({ folder: dir.path, upstream: echoUpstream });
    const bearer = gateway.issue(bootstrap, "one", "interactive").exposeBearer((text) => text);
    const endpoint = kind === "tcp" ? await gateway.listenTcp(0) : await gateway.listenUnix(`${dir.path}/g.sock`);
    const free = () => gateway.registry.list()[0]!.live === false;

    for (const { title, pieces, answers } of frameCases) {
      expect(await holdsWithin(free, { withinMs: 20_000, everyMs: 1 })).toBe(true);
      const client = await RawClient.upgraded({ port: endpoint.port ?? endpoint.address, bearer });
      client.socket.setNoDelay(true);
      client.socket.write(maskedText({ id: 0, method: "initialize", params: {} }));
      await client.until(() => client.frames.length === 2);
      for (const piece of pieces) client.socket.write(piece);
      const closed = answers.at(-1)!.startsWith("close:");
      await client.until(() => client.ended || (!closed && client.frames.length === 2 + answers.length));
      if (!closed) client.socket.write(masked(0x88, Buffer.from([3, 232])));
      expect([title, await client.until(() => client.ended)]).toEqual([title, true]);
      const expected = closed ? answers : [...answers, "close:1000"];
      expect([title, ...client.frames.slice(2).map(shown)]).toEqual([title, ...expected]);
    }
    await gateway.stop();
  });
}
