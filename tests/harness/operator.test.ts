import { expect, test } from "bun:test";
import { Operator } from "../../src/harness/operator.ts";
import { ReportBook } from "../../src/harness/report-book.ts";
import { tempFolder } from "../support/temp-folder.ts";

interface Recorded {
  readonly method: string;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** A server that answers from a list and records what it was asked. */
function serve(answers: readonly (string | object)[], status = 200) {
  const requests: Recorded[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const body = (await request.json()) as Record<string, unknown>;
      requests.push({ method: request.method, headers: request.headers, body });
      const answer = answers[Math.min(requests.length, answers.length) - 1]!;
      return new Response(typeof answer === "string" ? answer : JSON.stringify(answer), { status });
    },
  });
  return {
    requests,
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

async function withOperator(
  answers: readonly (string | object)[],
  act: (parts: { operator: Operator; book: ReportBook; requests: Recorded[] }) => Promise<void>,
  status = 200,
): Promise<void> {
  await using dir = await tempFolder();
  await using server = serve(answers, status);
  const book = new ReportBook({ folder: dir.path, hostJobId: null, sourceHead: "x", scriptSha256: "y" });
  const operator = new Operator({ url: server.url, httpTimeoutMs: 20_000, book });
  operator.token = "operator-token";
  await act({ operator, book, requests: server.requests });
}

const result = (structuredContent: unknown) => ({ jsonrpc: "2.0", id: 1, result: { structuredContent } });
const codeOf = (promise: Promise<unknown>) => promise.then(() => "none").catch((error) => error.code);

test("Operator calls every tool through call_runtime_tool with a rising id (H057 H061 H064)", async () => {
  await withOperator([result({ success: true, output: { goals: [] } })], async ({ operator, book, requests }) => {
    expect(await operator.tool("list_goals", {})).toEqual({ goals: [] });
    await operator.tool("list_goals", { limit: 1 });

    expect(requests[0]?.method).toBe("POST");
    expect(requests[0]?.headers.get("authorization")).toBe("Bearer operator-token");
    expect(requests[0]?.headers.get("content-type")).toBe("application/json");
    expect(requests[0]?.headers.get("accept")).toBe("application/json, text/event-stream");
    expect(requests.map(({ body }) => body["id"])).toEqual([1, 2]);
    expect(requests[1]?.body["params"]).toEqual({
      name: "call_runtime_tool",
      arguments: { tool: "list_goals", arguments: { limit: 1 } },
    });
    expect(book.report["last_tool"]).toBe("list_goals");
  });
});

test("Operator reads an error status like any other answer (H060)", async () => {
  const answer = result({ success: true, output: { a: 1 } });
  await withOperator([answer], async ({ operator }) => expect(await operator.tool("t", {})).toEqual({ a: 1 }), 400);
});

test("Operator names an answer without a result, output or JSON (H062 H063)", async () => {
  const once = async (answer: string | object) => {
    let code = "";
    await withOperator([answer], async ({ operator }) => {
      code = await codeOf(operator.tool("t", {}));
    });
    return code;
  };
  expect(await once("<html>")).toBe("http_result_not_json");
  expect(await once({ jsonrpc: "2.0", error: {} })).toBe("missing_mcp_result");
  expect(await once(result([]))).toBe("missing_mcp_result");
  expect(await once(result({ success: true, output: "text" }))).toBe("invalid_mcp_output");
  expect(await once(result({ success: true }))).toBe("none");
});

test("Operator takes an answer of 2 MiB and refuses one byte more (H059)", async () => {
  const whole = (bytes: number) => {
    const frame = JSON.stringify(result({ success: true, output: { pad: "" } }));
    return JSON.stringify(result({ success: true, output: { pad: "x".repeat(bytes - frame.length) } }));
  };
  const limit = 2 * 1024 * 1024;
  await withOperator([whole(limit), whole(limit + 1)], async ({ operator }) => {
    expect(await codeOf(operator.tool("t", {}))).toBe("none");
    expect(await codeOf(operator.tool("t", {}))).toBe("http_result_limit");
  });
});

test("Operator wants the very boolean it expects, and either one can be expected (H069 H072)", async () => {
  for (const success of [1, "true", null, false])
    await withOperator([result({ success, output: {} })], async ({ operator }) =>
      expect(await codeOf(operator.tool("t", {}))).toBe("tool_t_failed"),
    );
  await withOperator([result({ success: true, output: {} })], async ({ operator }) =>
    expect(await codeOf(operator.tool("t", {}, false))).toBe("tool_t_failed"),
  );
});

test("Operator keeps a failed start's run id and only binding fields (H067 H068 H070)", async () => {
  const output = { error_kind: "coding_agent_busy", run_id: "run-9", task_id: "t", secret: "s" };
  await withOperator([result({ success: false, output })], async ({ operator, book }) => {
    const code = await codeOf(operator.tool("start_agent_task_coding_run", {}));

    expect(code).toBe("tool_start_agent_task_coding_run_coding_agent_busy");
    expect(operator.binding).toEqual(output);
    expect(book.managed["run_id"]).toBe("run-9");
    expect(book.managed["latest_binding"]).toEqual({ task_id: "t", run_id: "run-9" });
    expect(book.report["phase"]).toBe("tool_failure");
    expect(book.report["last_tool_failure"]).toEqual({
      tool: "start_agent_task_coding_run",
      error_kind: "coding_agent_busy",
      task_id: "t",
      run_id: "run-9",
    });
  });
});

test("Operator replaces an error kind that is none (H071)", async () => {
  for (const kind of ["/etc/passwd", "x".repeat(101), 7, undefined])
    await withOperator([result({ success: false, output: { error_kind: kind } })], async ({ operator }) =>
      expect(await codeOf(operator.tool("t", {}))).toBe("tool_t_failed"),
    );
});

test("Operator keeps the last state and two fields of the terminal (H065 H066)", async () => {
  const first = { run_state: "running", terminal: { stop_reason: "end_turn", message: "private" } };
  await withOperator(
    [result({ success: true, output: first }), result({ success: true, output: { state: "" } })],
    async ({ operator, book }) => {
      await operator.tool("reconcile_agent_task_coding_run", {});
      expect(book.managed).toMatchObject({ last_run_state: "running", last_terminal: { stop_reason: "end_turn" } });
      await operator.tool("observe_coding_agent", {});
      expect(book.managed).toMatchObject({ last_run_state: "running", last_terminal: {} });
    },
  );
});
