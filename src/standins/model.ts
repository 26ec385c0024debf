// `standin model`: a Responses endpoint on loopback that plays a scenario. It keeps no request and logs nothing.
import { existsSync } from "node:fs";
import { holdsWithin } from "../base/clock.ts";
import { isRecord, parseJson } from "../base/json.ts";
import type { Scenario } from "../contract/responses.ts";
import { standinLimits } from "./limits.ts";
import { eventStream } from "./model-stream.ts";
import { TurnBook } from "./model-turns.ts";

export interface ModelOptions {
  readonly scenario: Scenario;
  readonly gate: string | null;
}

export interface ModelServer extends AsyncDisposable {
  readonly port: number;
}

/** Listens on a free port of 127.0.0.1. */
export function openModel(options: ModelOptions): ModelServer {
  const book = new TurnBook(options.scenario);
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 255,
    maxRequestBodySize: standinLimits.maxModelRequestBytes,
    fetch: (request) => answer(request, book, options.gate),
  });
  return { port: server.port ?? 0, [Symbol.asyncDispose]: () => server.stop(true) };
}

async function answer(request: Request, book: TurnBook, gate: string | null): Promise<Response> {
  // Codex tries a WebSocket first with its built-in provider; 426 sends it to plain HTTP at once.
  if (request.headers.get("upgrade") !== null) return new Response("upgrade not supported", { status: 426 });
  const path = new URL(request.url).pathname;
  if (request.method !== "POST" || !path.endsWith("/responses")) return refusal(404, "not scripted");
  const text = await request.text();
  const body = parseJson(text);
  if (!isRecord(body)) return refusal(400, "the body is no JSON object");
  const turn = book.pick(text, body);
  if (turn.gate === true && gate !== null) {
    await holdsWithin(() => existsSync(gate), { withinMs: standinLimits.gateMs });
  }
  if (turn.fail !== undefined) return refusal(turn.fail.status, turn.fail.message);
  const stream = eventStream(book.id("resp"), body.model, book.outputOf(turn, text));
  return new Response(stream, { headers: { "content-type": "text/event-stream", "cache-control": "no-cache" } });
}

function refusal(status: number, message: string): Response {
  return Response.json({ error: { message, type: "invalid_request_error", code: null } }, { status });
}
