// Requests to the operator's server: one POST, straight to the configured origin, no redirect, no proxy, bounded in
// bytes and in total time, with the credential read anew for each.

import { httpRequest } from "../base/bounded-http.ts";
import { utf8 } from "../base/bytes.ts";
import { codeOf, Failure } from "../base/failure.ts";
import type { HooksCode } from "./codes.ts";
import { hookLimits } from "./limits.ts";
import { readAuthorization } from "./operator-files.ts";
import { compactAscii, type ExactJson } from "./python-json.ts";
import { routeUrl } from "./server-address.ts";

export interface Server {
  readonly serverUrl: string;
  readonly authorizationFile: string;
}

export interface Question {
  readonly route: string;
  readonly body: ExactJson;
  readonly timeoutMs: number;
  /** Thrown when the answer is over the limit. */
  readonly tooLarge: HooksCode;
}

export interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
}

/** Asks once. What goes wrong on the way has no code of its own but the one for size. */
export async function ask(server: Server, question: Question): Promise<Answer> {
  const authorization = readAuthorization(server.authorizationFile);
  try {
    const answer = await httpRequest({
      url: routeUrl(server.serverUrl, question.route),
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: authorization },
      body: utf8(compactAscii(question.body)),
      timeoutMs: Math.max(1, Math.floor(question.timeoutMs)),
      maxBytes: hookLimits.maxInputBytes,
    });
    return { status: answer.status, body: answer.body };
  } catch (error) {
    if (codeOf(error) === "http_result_limit") throw new Failure<HooksCode>(question.tooLarge, { cause: error });
    throw error;
  }
}

export function isSuccess(answer: Answer): boolean {
  return answer.status >= 200 && answer.status < 300;
}
