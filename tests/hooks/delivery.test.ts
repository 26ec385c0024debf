// Delivery with a controlled sender and a hand-moved clock: one budget, exact repeats, ill servers asked once.
import { expect, test } from "bun:test";
import type { Delivery } from "../../src/hooks/acknowledgement.ts";
import { loadConfig } from "../../src/hooks/config-file.ts";
import { drain } from "../../src/hooks/delivery.ts";
import { associationOf, eventOf, type ObservedEvent, recordName, recordText } from "../../src/hooks/event.ts";
import { listRecords, saveRecord } from "../../src/hooks/outbox.ts";
import { handClock } from "../support/hand-clock.ts";
import { type Desk, desk } from "./desk.ts";

function save(d: Desk, count: number) {
  const config = loadConfig(d.configPath);
  for (let i = 0; i < count; i++) {
    const event = eventOf(JSON.parse(d.payload({ tool_use_id: `call-${i}` })), config)!;
    const association = associationOf(config);
    saveRecord(d.state, recordName(association, event.event_id), recordText(association, event));
  }
  return config;
}

test("drain() keeps to one budget of 15 s and leaves the rest pending (O103)", async () => {
  await using d = await desk();
  const config = save(d, 5);
  const clock = handClock();
  const timeouts: number[] = [];
  const send = async (_: unknown, __: ObservedEvent, timeoutMs: number): Promise<Delivery> => {
    timeouts.push(timeoutMs);
    clock.advance(4_000);
    return { outcome: "acknowledged" };
  };

  const result = await drain(config, { retryRefused: false, send, clock });

  expect(timeouts).toEqual([5_000, 5_000, 5_000, 3_000]);
  expect([result.acknowledged, [...result.left.values()]]).toEqual([4, ["pending_delivery_deadline"]]);
  expect(listRecords(d.state).length).toBe(1);
});

test("drain() asks an ill server once and sends the same reports again later (O102, O167)", async () => {
  await using d = await desk();
  const config = save(d, 3);
  const sent: string[] = [];
  let answer: Delivery = { outcome: "stopped", code: "recording_unconfirmed_check_pending_state" };
  const send = async (_: unknown, event: ObservedEvent) => {
    sent.push(event.event_id);
    return answer;
  };

  const ill = await drain(config, { retryRefused: false, send });
  answer = { outcome: "acknowledged" };
  const well = await drain(config, { retryRefused: false, send });

  expect([ill.acknowledged, ill.left.size, well.acknowledged, well.left.size]).toEqual([0, 3, 3, 0]);
  expect(sent.length).toBe(4);
  expect(sent[1]).toBe(sent[0]!);
});

test("drain() finds what is saved while it delivers", async () => {
  await using d = await desk();
  const config = save(d, 1);
  let extra = true;
  const send = async (): Promise<Delivery> => {
    if (extra) save(d, 2);
    extra = false;
    return { outcome: "acknowledged" };
  };

  const result = await drain(config, { retryRefused: false, send });

  expect([result.acknowledged, listRecords(d.state)]).toEqual([2, []]);
});

test("changed server, Project or Session leaves old reports where they are (O106, O168)", async () => {
  for (const change of [
    { server_url: "http://127.0.0.1:2" },
    { project: "agent:other:project" },
    { workflow_session_id: "wc_sess_other" },
  ]) {
    await using d = await desk();
    save(d, 1);
    d.configure(change);
    const send = async (): Promise<Delivery> => ({ outcome: "acknowledged" });

    const result = await drain(loadConfig(d.configPath), { retryRefused: true, send });

    expect([result.acknowledged, [...result.left.values()]]).toEqual([0, ["pending_association_mismatch"]]);
    expect(listRecords(d.state).length).toBe(1);
  }
});
