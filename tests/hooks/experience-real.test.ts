// Promotion against the real server and runner, with the promoting process killed on either side of its effect, and
// with a credential that ends in between: nothing twice, nothing lost, and the operator is told what to do.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { bootstrap, type Json, post } from "../server/served.ts";
import { proctorBinary } from "../support/binary.ts";
import { runBinary } from "../support/run-binary.ts";
import { writePrivate } from "./desk.ts";
import { type Plane, type PlaneDesk, plane, planeProject, planeScopes } from "./plane.ts";

let p: Plane;
beforeAll(async () => {
  p = await plane();
}, 120_000);
afterAll(async () => {
  await p[Symbol.asyncDispose]();
}, 60_000);

const effects = ["memory_set", "write_project_skill"];
type Seen = (forward: () => Promise<Response>) => Promise<Response>;

/** A front that hands each effect to `onEffect`, which decides whether and when it is carried out. */
function effectFront() {
  const front = { onEffect: null as Seen | null, carriedOut: 0 };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const headers = { authorization: request.headers.get("authorization") ?? "", "content-type": "application/json" };
      const body = await request.text();
      const isEffect = effects.includes((JSON.parse(body) as Json)["tool"]);
      const forward = async () => {
        const answer = await fetch(p.url + new URL(request.url).pathname, { method: "POST", headers, body });
        if (isEffect && answer.ok) front.carriedOut += 1;
        return answer;
      };
      return isEffect && front.onEffect !== null ? await front.onEffect(forward) : await forward();
    },
  });
  return Object.assign(front, {
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  });
}

async function experience(d: PlaneDesk, words: readonly string[]): Promise<Json> {
  const run = await runBinary(["experience", words[0]!, "--config", d.configPath, ...words.slice(1)]);
  return { code: run.code, ...(JSON.parse(run.stdout) as Json) };
}

/** A candidate, approved for a destination where nothing is yet. */
async function approved(d: PlaneDesk, destination: string): Promise<string[]> {
  const made = await experience(d, ["propose", "--origin", "operator", "--text", `Lint first: ${destination}`]);
  const chosen = ["--proposal", made["proposal"], "--version", made["version"]];
  const words = [...chosen, "--destination", destination, "--expected", "absent"];
  const said = await experience(d, ["approve", ...words]);
  if (said["status"] !== "approved") throw new Error(JSON.stringify(said));
  return words;
}

async function textAt(destination: string): Promise<string | null> {
  const [kind, name] = destination.split(":") as [string, string];
  if (kind === "skill") {
    const path = `${p.root}/.agents/skills/${name}/SKILL.md`;
    return existsSync(path) ? readFileSync(path, "utf8") : null;
  }
  const read = await p.call("memory_read", { project: planeProject, memory_key: name });
  return read["success"] === true ? `${read["output"].memory.revision}:${read["output"].memory.value}` : null;
}

const plain = (text: string | null) => text?.replace(/^1:/, "") ?? null;

/** Promotes in a process of its own that is killed when its effect arrives; `carried` says whether it happened. */
async function killedPromotion(
  d: PlaneDesk,
  front: ReturnType<typeof effectFront>,
  run: { words: string[]; carried: boolean },
) {
  const child = Bun.spawn([proctorBinary, "experience", "promote", "--config", d.configPath, ...run.words], {
    ...{ cwd: "/", env: {}, stdout: "ignore", stderr: "ignore" },
  });
  front.onEffect = async (forward) => {
    front.onEffect = null;
    if (run.carried) await forward();
    child.kill("SIGKILL");
    await child.exited;
    return new Response(null, { status: 500 });
  };
  await child.exited;
  return child.signalCode;
}

for (const kind of ["memory", "skill"] as const) {
  test(`a promotion to a ${kind} killed before or after its effect is applied once in the end (O186, O187)`, async () => {
    await using front = effectFront();
    const d = p.desk(await p.session(), `local-${kind}`, front.url);
    for (const carried of [false, true]) {
      const destination = `${kind}:lint-${carried ? "after" : "before"}`;
      const words = await approved(d, destination);
      front.carriedOut = 0;

      const signal = await killedPromotion(d, front, { words, carried });
      const there = await textAt(destination);
      const blind = await experience(d, ["promote", ...words]);
      const other = await experience(d, ["approve", ...words]);
      const listed = await experience(d, ["list"]);
      const looked = await experience(d, ["reconcile", "--proposal", words[1]!]);
      if (!carried) await experience(d, ["approve", ...words]);
      const last = await experience(d, ["promote", ...words]);

      expect(signal).toBe("SIGKILL");
      expect(plain(there)).toBe(carried ? `Lint first: ${destination}` : null);
      for (const refused of [blind, other]) {
        expect([refused["code"], refused["reason"]]).toEqual([1, "unresolved_effect_receipt"]);
        expect(refused["message"]).toContain("experience reconcile");
      }
      expect((listed["proposals"] as Json[]).find((one) => one["proposal"] === words[1])?.["state"]).toBe("prepared");
      expect([looked["code"], looked["status"]]).toEqual(carried ? [0, "applied"] : [1, "not_applied"]);
      if (!carried) expect(looked["next_step"]).toContain("Approve again");
      expect(carried ? last["reason"] : last["status"]).toBe(carried ? "experience_already_promoted" : "applied");
      expect(front.carriedOut).toBe(1);
      expect(await textAt(destination)).toBe(
        kind === "memory" ? `1:Lint first: ${destination}` : `Lint first: ${destination}`,
      );
    }
  }, 180_000);
}

test("a credential that ends before or amid a promotion leaves one effect and a way on", async () => {
  await using front = effectFront();
  const d = p.desk(await p.session(), "local-expiry", front.url);
  const words = await approved(d, "memory:expiry");
  const useToken = (token: string) =>
    writePrivate(`${d.configPath.replace(/config\.json$/, "auth")}`, `Bearer ${token}\n`);
  const asBootstrap = (path: string, body: Json) => post(p.url + path, body, bootstrap);
  const short = await asBootstrap("/api/tokens/create", { username: "ann", name: "short", scopes: planeScopes });

  useToken(`wc_pat_${"0".repeat(64)}`);
  const before = await experience(d, ["promote", ...words]);
  useToken(short["token"] as string);
  front.onEffect = async (forward) => {
    front.onEffect = null;
    const ended = await asBootstrap("/api/tokens/revoke", { token_id: short["token_id"] });
    if (ended["success"] !== true) throw new Error(JSON.stringify(ended));
    return await forward();
  };
  const amid = await experience(d, ["promote", ...words]);
  const blind = await experience(d, ["reconcile", "--proposal", words[1]!]);
  useToken(p.ann);
  const looked = await experience(d, ["reconcile", "--proposal", words[1]!]);
  await experience(d, ["approve", ...words]);
  const last = await experience(d, ["promote", ...words]);

  // Without a credential nothing was begun: the approval stands, and no receipt blocks the way.
  expect([before["code"], before["reason"]]).toEqual([1, "experience_unconfirmed"]);
  expect([amid["code"], amid["status"]]).toEqual([1, "unknown"]);
  expect(amid["next_step"]).toContain("experience reconcile");
  expect([blind["code"], blind["reason"]]).toEqual([1, "experience_unconfirmed"]);
  expect([looked["status"], last["status"]]).toEqual(["not_applied", "applied"]);
  expect(await textAt("memory:expiry")).toBe("1:Lint first: memory:expiry");
}, 180_000);
