// What a refused upgrade or message is answered: one reason, one status, one fixed text, nothing of the request.
export const upgradeRefusals = {
  malformed_head: { status: 400, message: "request is not a strict HTTP/1.1 head" },
  wrong_method: { status: 400, message: "only GET can be upgraded" },
  wrong_path: { status: 404, message: "no such endpoint" },
  forbidden_carrier: { status: 400, message: "a header of this request is not allowed" },
  repeated_header: { status: 400, message: "a security header is repeated" },
  absolute_target: { status: 400, message: "absolute-form target is not allowed" },
  missing_host: { status: 400, message: "Host is missing" },
  wrong_host: { status: 400, message: "Host is not this endpoint" },
  origin_present: { status: 400, message: "Origin is not allowed" },
  not_an_upgrade: { status: 400, message: "request is not a WebSocket upgrade" },
  unauthenticated: { status: 401, message: "authentication failed" },
  unauthorized: { status: 403, message: "client id was rejected" },
  busy: { status: 409, message: "client channel is in use" },
  bad_narrowing: { status: 400, message: "permission narrowing is not readable" },
} as const satisfies Record<string, { readonly status: number; readonly message: string }>;
export type UpgradeRefusal = keyof typeof upgradeRefusals;

const words: Record<number, readonly [string, number, string]> = {
  400: ["Bad Request", -32600, "invalid_request"],
  401: ["Unauthorized", -32030, "unauthenticated"],
  403: ["Forbidden", -32031, "unauthorized"],
  404: ["Not Found", -32600, "invalid_request"],
  409: ["Conflict", -32000, "busy"],
};

/** The whole HTTP answer of a refused upgrade. */
export function refusalAnswer(why: UpgradeRefusal): string {
  const { status, message } = upgradeRefusals[why];
  const [phrase, code, name] = words[status]!;
  const body = JSON.stringify({ error: { code, message, data: { name } } });
  return `HTTP/1.1 ${status} ${phrase}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;
}

export const messageErrors = {
  parse_error: { code: -32700, message: "message is not JSON" },
  invalid_request: { code: -32600, message: "message is not one call, notification or answer" },
  unauthenticated: { code: -32030, message: "credentials do not belong in messages" },
  unauthorized: { code: -32031, message: "the client holds no right to this" },
  controller_required: { code: -32032, message: "another client controls this thread" },
  busy: { code: -32000, message: "the gateway or its upstream is busy" },
} as const;
export type MessageError = keyof typeof messageErrors;

/** An error over the socket, with the id of the message it answers. */
export function errorMessage(id: unknown, name: MessageError): string {
  const { code, message } = messageErrors[name];
  return JSON.stringify({ id: id ?? null, error: { code, message, data: { name } } });
}
