// What the plane reads out of requests and changes in answers: one tool call, one result, nothing else.
import { expect, test } from "bun:test";
import { changeResult, otherId, readCall } from "../../src/standins/plane-call.ts";
import { type PlaneMisbehaviour, planeMisbehaviours } from "../../src/standins/plane-misbehaviours.ts";
import { planeTwists } from "../../src/standins/plane-twists.ts";

const runtimeCall = (tool: string, args: object) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "call_runtime_tool", arguments: { tool, arguments: args } },
  });
const mcpAnswer = (output: object) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, result: { structuredContent: { success: true, output } } });

test("readCall() finds the tool over both routes, and nothing in what is no call", () => {
  expect(readCall("/mcp", runtimeCall("list_goals", { a: 1 }))).toEqual({
    tool: "list_goals",
    args: { a: 1 },
    over: "mcp",
  });
  const direct = { method: "tools/call", params: { name: "read_files", arguments: { items: [] } } };
  expect(readCall("/mcp", JSON.stringify(direct))?.tool).toBe("read_files");
  expect(readCall("/api/tools/call", JSON.stringify({ tool: "list_projects", params: {} }))?.over).toBe("rest");
  expect(readCall("/mcp", JSON.stringify({ method: "initialize" }))).toBeNull();
  expect(readCall("/mcp", "no json")).toBeNull();
  expect(readCall("/api/users/create", JSON.stringify({ tool: "x" }))).toBeNull();
});

test("changeResult() changes the one result and its text together, over both routes", () => {
  const change = (_: object, output: Record<string, unknown>) => {
    output.run_id = otherId(output.run_id);
  };
  const call = { tool: "observe_coding_agent", args: {}, over: "mcp" } as const;
  const changed = JSON.parse(changeResult(call, mcpAnswer({ run_id: "r_10" }), change));
  expect(changed.result.structuredContent).toEqual({ success: true, output: { run_id: "r_11" } });
  expect(JSON.parse(changed.result.content[0].text)).toEqual(changed.result.structuredContent);
  const rest = changeResult(
    { ...call, over: "rest" },
    JSON.stringify({ success: true, output: { run_id: "a" } }),
    change,
  );
  expect(JSON.parse(rest)).toEqual({ success: true, output: { run_id: "0" } });
  expect(changeResult(call, "<html>", change)).toBe("<html>");
});

test("each name changes calls of its own tool only, and those about the restart only after one", () => {
  const tools = ["list_projects", "observe_coding_agent", "reconcile_agent_task_coding_run", "read_agent_task"];
  const touched = (name: PlaneMisbehaviour, restarted: boolean) =>
    tools.filter((tool) =>
      planeTwists(name).some((one) => one.applies({ tool, args: {}, over: "mcp" }, { restarted, nth: 1, secret: "" })),
    );
  expect(touched("loses-history", false)).toEqual([]);
  expect(touched("loses-history", true)).toEqual(["observe_coding_agent"]);
  expect(touched("changes-task-id", true)).toEqual(["read_agent_task"]);
  expect(touched("unknown-state", false)).toEqual(["observe_coding_agent"]);
  expect(touched("honest-slow", true)).toEqual([]);
  const wide = Object.keys(planeMisbehaviours).filter(
    (name) => name !== "honest-odd-answers" && touched(name as PlaneMisbehaviour, true).includes("list_projects"),
  );
  expect(wide).toEqual([]);
});
