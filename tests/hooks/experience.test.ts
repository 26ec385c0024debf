// Promoting a lesson: exact version and destination, one effect, and no blind retry after an outcome that is unknown.
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { sha256Hex } from "../../src/base/bytes.ts";
import { parseDestination } from "../../src/hooks/experience/destination.ts";
import { approve, list, promote, propose, reconcile } from "../../src/hooks/experience/experience.ts";
import { desk, recordingServer, runProctor } from "./desk.ts";

/** Session messages, memories and Skills of one Project; `after` says what becomes of the next write's answer. */
function experienceServer() {
  const world = { after: "answer" as "answer" | "drop" | "lose", writes: 0 };
  const messages: Record<string, unknown>[] = [];
  const kept = new Map<string, { text: string; revision: number }>();
  const good = (output: object) => Response.json({ success: true, output });
  const refuse = (kind: string) => Response.json({ success: false, output: { error_kind: kind } }, { status: 400 });
  const project = "agent:fixture:project";
  const write = (key: string, text: string, isExpected: boolean, conflict: string) => {
    if (world.after === "lose") return new Response("lost", { status: 502 });
    if (!isExpected) return refuse(conflict);
    kept.set(key, { text, revision: (kept.get(key)?.revision ?? 0) + 1 });
    world.writes += 1;
    return world.after === "drop" ? new Response("dropped", { status: 502 }) : good({ project, state_changed: true });
  };
  const server = recordingServer(({ body: { tool, params: p } }) => {
    if (tool === "post_session_message") {
      messages.push({ message_id: `m${messages.length}`, message: p["message"] });
      return good({ message_id: `m${messages.length - 1}` });
    }
    if (tool === "list_session_messages") return good({ session_id: p["session_id"], messages });
    const key = String(p["memory_key"] ?? p["name"] ?? "lint");
    const found = kept.get(key);
    if (tool === "memory_set") {
      const isExpected = (found?.revision ?? null) === p["expected_revision"];
      return write(key, String(p["value"]), isExpected, "memory_revision_conflict");
    }
    if (tool === "write_project_skill") {
      const isExpected =
        p["absent"] === true ? found === undefined : sha256Hex(found?.text ?? "") === p["expected_sha256"];
      return write(key, String(p["text"]), isExpected, "skill_conflict");
    }
    if (tool === "memory_read") {
      if (found === undefined) return refuse("memory_not_found");
      return good({ project, memory: { value: found.text, revision: found.revision } });
    }
    const output = found === undefined ? { reason_code: "not_found" } : { text: found.text };
    return good({ project, items: [{ success: found !== undefined, output }] });
  });
  return { world, kept, server };
}

async function ready(destination: string) {
  const d = await desk();
  const fixture = experienceServer();
  d.configure({ server_url: fixture.server.url });
  const options = { configPath: d.configPath };
  const made = await propose({ origin: "operator", text: "Run the linter first." }, options);
  const choice = {
    proposal: String(made["proposal"]),
    version: String(made["version"]),
    destination: parseDestination(destination, "absent"),
  };
  const dispose = async () => {
    await fixture.server[Symbol.asyncDispose]();
    await d[Symbol.asyncDispose]();
  };
  return { d, ...fixture, options, choice, [Symbol.asyncDispose]: dispose };
}

test("one approval of an exact version and destination promotes once (O180, O181, O187)", async () => {
  await using t = await ready("memory:lint");
  const { choice, options } = t;
  const other = { ...choice, destination: parseDestination("memory:other", "absent") };

  await expect(promote(choice, options)).rejects.toThrow("experience_not_approved");
  await expect(approve({ ...choice, version: "0".repeat(64) }, options)).rejects.toThrow("experience_version_mismatch");
  await approve(choice, options);
  await expect(promote(other, options)).rejects.toThrow("experience_not_approved");
  expect((await promote(choice, options))["status"]).toBe("applied");
  await expect(promote(choice, options)).rejects.toThrow("experience_already_promoted");
  await expect(approve(other, options)).rejects.toThrow("experience_already_promoted");
  expect([t.world.writes, t.kept.get("lint")?.text]).toEqual([1, "Run the linter first."]);
  expect(JSON.stringify(await list(options))).toContain('"state":"applied"');
  expect(readdirSync(t.d.state).filter((name) => !/^\.?experience/.test(name))).toEqual([]);
});

test("a destination that changed meanwhile is a conflict and keeps its text (O182, O183)", async () => {
  for (const destination of ["memory:lint", "skill:lint"]) {
    await using t = await ready(destination);
    await approve(t.choice, t.options);
    t.kept.set("lint", { text: "theirs", revision: 1 });

    const result = await promote(t.choice, t.options);

    expect([result["status"], t.kept.get("lint")?.text]).toEqual(["not_applied", "theirs"]);
    await expect(promote(t.choice, t.options)).rejects.toThrow("experience_not_approved");
  }
  expect(() => parseDestination("skill:../x", "absent")).toThrow("experience_destination_invalid");
});

test("an effect without an outcome blocks a blind retry until reconcile has looked (O186)", async () => {
  for (const destination of ["memory:lint", "skill:lint"]) {
    for (const [after, state] of [
      ["drop", "applied"],
      ["lose", "not_applied"],
    ] as const) {
      await using t = await ready(destination);
      await approve(t.choice, t.options);
      t.world.after = after;
      expect((await promote(t.choice, t.options))["status"]).toBe("unknown");
      await expect(promote(t.choice, t.options)).rejects.toThrow("unresolved_effect_receipt");
      await expect(approve(t.choice, t.options)).rejects.toThrow("unresolved_effect_receipt");
      t.world.after = "answer";

      expect((await reconcile(t.choice.proposal, t.options))["status"]).toBe(state);
      expect(t.world.writes).toBe(after === "drop" ? 1 : 0);
    }
  }
});

test("the command lists candidates and refuses a wrong destination", async () => {
  await using t = await ready("memory:lint");
  const words = ["--config", t.d.configPath];

  const listed = await runProctor(["experience", "list", ...words]);
  const refused = await runProctor([
    "experience",
    "approve",
    ...words,
    "--proposal",
    "m0",
    "--version",
    "v",
    "--destination",
    "file:x",
    "--expected",
    "absent",
  ]);

  expect([listed.code, JSON.parse(listed.stdout).proposals.length]).toEqual([0, 1]);
  expect([refused.code, JSON.parse(refused.stdout).reason]).toEqual([1, "experience_destination_invalid"]);
}, 60_000);
