// The reduction of the consumer's stream: what is kept of an event, and that no text of the subject is.
import { expect, test } from "bun:test";
import { sha256Hex } from "../../src/base/bytes.ts";
import { answerOf, expectedAnswer, reduceFrame, reduceFrames } from "../../src/judge/consumer-frames.ts";
import { alpha, answer, call, completed, expectation, message } from "./consumer-subject.ts";

test("the right answer is every key=value line of both files", () => {
  expect(expectedAnswer(expectation.files)).toEqual(answer);
  expect(expectedAnswer({ a: "X=1=2\nnothing\r\nY=\n" })).toEqual({ X: "1=2", Y: "" });
});

test("H137 H138 H139 H140: the final text is trimmed, one fence comes off, anything else fails", () => {
  const json = JSON.stringify(answer);
  const cases: Array<[string, "equal" | "different" | "not_json"]> = [
    [json, "equal"],
    [`  \n${json}\n `, "equal"],
    [`\`\`\`json\n${json}\n\`\`\``, "equal"],
    [`\`\`\`\n${json}\n\`\`\``, "equal"],
    [`\`\`\`json\n\`\`\`\n${json}\n\`\`\`\n\`\`\``, "not_json"],
    [`Here it is: ${json}`, "not_json"],
    [`${json}\n${json}`, "not_json"],
    ["done", "not_json"],
    ["", "not_json"],
    ["null", "different"],
    ["[]", "different"],
    [JSON.stringify({ ...answer, BENCH_TARGET_ALPHA: "no" }), "different"],
    [JSON.stringify({ ...answer, EXTRA: "1" }), "different"],
    [JSON.stringify({ BENCH_TARGET_ALPHA: answer.BENCH_TARGET_ALPHA }), "different"],
  ];
  for (const [text, expected] of cases) expect([text, answerOf(text, expectation)]).toEqual([text, expected]);
});

test("H119: other frames and items that are no objects are passed over", () => {
  const odd = [
    null,
    1,
    "x",
    [],
    {},
    { type: 7 },
    { type: "thread.started", thread_id: "t" },
    { type: "error", message: "m" },
  ];
  const noItem = [
    { type: "item.completed" },
    { type: "item.completed", item: "text" },
    { type: "item.completed", item: null },
  ];
  const other = [completed({ type: "reasoning", text: "private" }), completed({ type: "todo_list", items: [] })];
  for (const frame of [...odd, ...noItem, ...other]) expect(reduceFrame(frame, expectation)).toBeNull();
});

test("H123: arguments may be an object or a string of JSON", () => {
  const project = (frame: unknown) => reduceFrame(frame, expectation)?.call?.project;
  expect(project(call())).toBe("same");
  expect(project(call({ arguments: JSON.stringify({ project: expectation.project }) }))).toBe("same");
  expect(project(call({ arguments: "{" }))).toBe("other");
  expect(project(call({ arguments: [] }))).toBe("other");
  expect(project(call({ arguments: { project: "agent:x:y" } }))).toBe("other");
});

test("H126 H127: where the structured result is taken from", () => {
  const good = { success: true, output: { failed_count: 0, items: [] } };
  const bad = { success: false };
  const block = (value: unknown) => ({ type: "text", text: typeof value === "string" ? value : JSON.stringify(value) });
  const of = (result: unknown) => {
    const kept = reduceFrame(call({ result }), expectation)?.call;
    return [kept?.structured, kept?.success];
  };
  expect(of({ structured_content: good })).toEqual(["present", true]);
  expect(of({ structuredContent: good })).toEqual(["present", true]);
  expect(of({ structured_content: good, structuredContent: bad })).toEqual(["present", true]);
  expect(of({ structured_content: null, structuredContent: good })).toEqual(["present", true]);
  expect(of({ content: [block(good)] })).toEqual(["present", true]);
  expect(of({ content: [block("noise"), block({ other: 1 }), block(good)] })).toEqual(["present", true]);
  expect(of({ content: [] })).toEqual(["missing", false]);
  expect(of({ content: [block("{broken")] })).toEqual(["missing", false]);
  expect(of({ content: [block(good), block(good)] })).toEqual(["missing", false]);
});

test("no text of the subject is kept, and U+2028 in it changes nothing", () => {
  const frames = [
    message("secret \u2028 words"),
    completed({ type: "error", message: "secret words" }),
    call({ id: "secret words" }),
  ];
  const kept = JSON.stringify(reduceFrames(frames, expectation));
  expect(kept).not.toContain("secret");
  expect(kept).toContain(sha256Hex(alpha));
});

test("equal neighbours are kept once; 4096 events are kept and the next is counted as not kept", () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      index % 2 === 0 ? { type: "turn.started" } : { type: "turn.completed" },
    );
  expect(reduceFrames([message("a"), message("b"), message("c")], expectation).frames).toHaveLength(1);
  expect(reduceFrames(many(4096), expectation)).toMatchObject({ notKept: 0 });
  expect(reduceFrames(many(4097), expectation)).toMatchObject({ notKept: 1 });
});
