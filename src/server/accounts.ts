// The account routes: users, tokens and agent tokens. Bootstrap and admins act for anyone, a user for itself.
import { z } from "../contract/schema.ts";
import { agentScopes, isScope, type Scope } from "../contract/scopes.ts";
import { serverLimits } from "./limits.ts";
import { json, refusal } from "./refusal.ts";
import { addToken, listTokens, type NewToken, revokeToken } from "./tokens.ts";
import type { ToolContext } from "./tool.ts";
import { addUser, userByName } from "./users.ts";

const username = () => z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/);
const tokenName = () => z.string().min(1).max(serverLimits.maxTokenNameChars).default("default");
const expiry = () => z.int().positive().nullish();

let schemas: ReturnType<typeof buildSchemas> | undefined;

function buildSchemas() {
  return {
    user: z.strictObject({
      username: username(),
      display_name: z.string().max(128).nullish(),
      role: z.enum(["user", "admin"]).default("user"),
      issue_credential: z.literal(false).optional(),
    }),
    pat: z.strictObject({
      username: username(),
      name: tokenName(),
      scopes: z.array(z.string().max(64)).max(64).default([]),
      expires_at: expiry(),
    }),
    agent: z.strictObject({
      username: username(),
      client_id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
      name: tokenName(),
      scopes: z.array(z.string().max(64)).max(64).optional(),
      expires_at: expiry(),
    }),
    revoke: z.strictObject({ token_id: z.string().min(1).max(128) }),
  };
}

function shapes() {
  schemas ??= buildSchemas();
  return schemas;
}

/** POST /api/users/create */
export async function createUser(body: unknown, context: ToolContext): Promise<Response> {
  if (!context.principal.admin) return refusal(403, "admin required");
  const parsed = shapes().user.safeParse(body);
  if (!parsed.success) return refusal(400, "invalid user");
  const { data } = parsed;
  const made = await context.store.write((db) =>
    addUser(
      db,
      { username: data.username, displayName: data.display_name ?? null, role: data.role },
      { random: context.random, nowSeconds: nowSeconds(context) },
    ),
  );
  if (made === "exists") return refusal(409, "username already exists");
  if (made === "full") return refusal(409, "user capacity reached");
  return json(200, { success: true, user: made });
}

/** POST /api/tokens/create */
export async function createToken(body: unknown, context: ToolContext): Promise<Response> {
  const parsed = shapes().pat.safeParse(body);
  if (!parsed.success) return refusal(400, "invalid token request");
  const { data } = parsed;
  if (!mayActFor(context, data.username)) return refusal(403, "not allowed for this user");
  const scopes = [...new Set(data.scopes)];
  const unknown = scopes.find((scope) => !isScope(scope));
  if (unknown !== undefined) return refusal(400, `unknown scope '${unknown.replace(/[^A-Za-z0-9:_.-]/g, "")}'`);
  if (scopes.includes("admin") && !context.principal.admin) return refusal(403, "granting admin needs an admin");
  if (!context.principal.admin && scopes.some((scope) => !context.principal.scopes.has(scope as Scope)))
    return refusal(403, "a token cannot grant what its caller lacks");
  return issue(context, {
    kind: "pat",
    name: data.name,
    username: data.username,
    scopes: scopes as Scope[],
    allowedClientId: null,
    expiresAt: data.expires_at ?? null,
  });
}

/** POST /api/agent-tokens/create */
export async function createAgentToken(body: unknown, context: ToolContext): Promise<Response> {
  const parsed = shapes().agent.safeParse(body);
  if (!parsed.success) return refusal(400, "invalid agent token request");
  const { data } = parsed;
  if (!mayActFor(context, data.username)) return refusal(403, "not allowed for this user");
  const scopes = [...new Set(data.scopes ?? agentScopes)];
  if (scopes.some((scope) => !(agentScopes as readonly string[]).includes(scope)))
    return refusal(400, "agent tokens hold agent scopes only");
  return issue(context, {
    kind: "agent",
    name: data.name,
    username: data.username,
    scopes: scopes as Scope[],
    allowedClientId: data.client_id,
    expiresAt: data.expires_at ?? null,
  });
}

/** POST /api/tokens/list: the caller's own, or all for an admin. */
export async function listTokensRoute(_body: unknown, context: ToolContext): Promise<Response> {
  const all = await context.store.read((db) => listTokens(db, nowSeconds(context)));
  const tokens = context.principal.admin ? all : all.filter((token) => token.username === context.principal.username);
  return json(200, { success: true, tokens });
}

/** POST /api/tokens/revoke: one of the caller's own, or any for an admin. */
export async function revokeTokenRoute(body: unknown, context: ToolContext): Promise<Response> {
  const parsed = shapes().revoke.safeParse(body);
  if (!parsed.success) return refusal(400, "invalid revoke request");
  const tokenId = parsed.data.token_id;
  const all = await context.store.read((db) => listTokens(db, nowSeconds(context)));
  const known = all.find((token) => token.token_id === tokenId);
  const mine = known !== undefined && (context.principal.admin || known.username === context.principal.username);
  if (!mine) return refusal(404, "token not found");
  await context.store.write((db) => revokeToken(db, tokenId, nowSeconds(context)));
  await context.runners.tokensChanged();
  return json(200, { success: true, token_id: tokenId, revoked: true });
}

function nowSeconds(context: ToolContext): number {
  return Math.floor(context.clock.wallMs() / 1000);
}

function mayActFor(context: ToolContext, name: string): boolean {
  return context.principal.admin || context.principal.username === name;
}

async function issue(
  context: ToolContext,
  wanted: Omit<NewToken, "user"> & { readonly username: string },
): Promise<Response> {
  const now = nowSeconds(context);
  if (wanted.expiresAt !== null && wanted.expiresAt <= now) return refusal(400, "expires_at must be in the future");
  const made = await context.store.write((db) => {
    const user = userByName(db, wanted.username);
    if (user === null || user.disabled) return user === null ? "no_user" : "disabled";
    const token = addToken(db, { ...wanted, user }, { random: context.random, nowSeconds: now });
    return token === "full" ? token : { token, user };
  });
  if (made === "no_user") return refusal(404, "user not found");
  if (made === "disabled") return refusal(403, "user is disabled");
  if (made === "full") return refusal(409, "token capacity reached");
  return json(200, {
    success: true,
    token: made.token.token,
    token_prefix: made.token.tokenPrefix,
    token_id: made.token.tokenId,
    name: wanted.name,
    ...(wanted.kind === "agent" ? { kind: "agent", allowed_client_id: wanted.allowedClientId } : {}),
    username: made.user.username,
    user_id: made.user.id,
    scopes: wanted.scopes,
    created_at: now,
    expires_at: wanted.expiresAt,
  });
}
