// The server is killed while callers write, again and again: what was acknowledged is there, and nothing is there
// twice. PROCTOR_KILLS=200 is the measured run; a few kills by default.
import { expect, test } from "bun:test";
import { Secret } from "../../src/base/secret.ts";
import { checkData } from "../../src/server/operator.ts";
import { openServer } from "../../src/server/server.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { annsRunner, project } from "./anns-runner.ts";
import { bootstrap, type Json, post, serve } from "./served.ts";

const kills = Number(process.env.PROCTOR_KILLS ?? "4");
const writers = 4;

interface Write {
  readonly tool: "record_external_observation" | "create_goal";
  readonly params: Json;
  firsts: number;
  acknowledged: number;
}

/** A session, made by a server of this process, so that the killed one needs no Runner. */
async function madeSession(folder: string): Promise<string> {
  const server = await openServer({
    address: "127.0.0.1:0",
    dataFolder: `${folder}/data`,
    bootstrap: Secret.from(bootstrap),
    openLink: () => annsRunner(),
  });
  const params = { project, instruction: "write" };
  const made = await post(`${server.url}/api/tools/call`, { tool: "work_on_project", params });
  await server.close();
  return made.output.session_id;
}

/** The write with this number: even ones are reports, odd ones goals, whose ids the server chooses. */
function writeOf(number: number, sessionId: string): Write {
  const fresh = { firsts: 0, acknowledged: 0 };
  if (number % 2 === 1)
    return {
      ...fresh,
      tool: "create_goal",
      params: { title: "t", objective: "o", idempotency_key: `key-${number}` },
    };
  const event_id = number.toString(16).padStart(64, "0");
  const params = { project, session_id: sessionId, adapter_id: "a".repeat(64), event_id, observed_tool: "Bash" };
  return { ...fresh, tool: "record_external_observation", params };
}

async function send(url: string, write: Write): Promise<void> {
  const answer = await post(`${url}/api/tools/call`, { tool: write.tool, params: write.params });
  if (answer.success !== true) throw new Error(JSON.stringify(answer));
  write.acknowledged += 1;
  if (answer.output.inserted === true || answer.output.created === true) write.firsts += 1;
}

test(
  "a server killed under writes keeps every acknowledged one once (O059)",
  async () => {
    await using dir = await tempFolder();
    const sessionId = await madeSession(dir.path);
    const all: Write[] = [];
    const words = ["--observations-per-session", "65536"];
    for (let round = 0; round < kills; round += 1) {
      const { group, url } = await serve(dir.path, words);
      const doubtful = all.filter((write) => write.acknowledged === 0);
      let left = doubtful.length + 1 + (round % 7);
      const work = async () => {
        while (left > 0) {
          const write = doubtful.pop() ?? writeOf(all.length, sessionId);
          if (!all.includes(write)) all.push(write);
          try {
            await send(url, write);
          } catch (error) {
            // Only the killed server may leave a caller without an answer.
            if (left > 0) throw error;
            return;
          }
          left -= 1;
          if (left === 0) group.signalLeader("SIGKILL");
        }
      };
      await Promise.all(Array.from({ length: writers }, work));
      await group.exited;
    }

    const last = await serve(dir.path, words);
    for (const write of all) await send(last.url, write);
    await last.group.stop({ firstSignal: "SIGINT" });
    const report = checkData(`${dir.path}/data`);

    const reports = all.filter((write) => write.tool === "record_external_observation").length;
    expect(report.sound).toBe(true);
    expect(report.rows).toMatchObject({ external_observations: reports, goals: all.length - reports });
    // Asked for at least twice where it had been acknowledged before; made at most once.
    expect(all.filter((write) => write.firsts > 1)).toEqual([]);
  },
  60_000 + kills * 30_000,
);
