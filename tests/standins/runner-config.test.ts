// The runner.toml of the harness, moved to another server and with words put before the agent's command.
import { expect, test } from "bun:test";
import { rewriteConfig } from "../../src/standins/runner-config.ts";

const config = [
  'server_url = "http://127.0.0.1:1"',
  'token = "t"',
  "[[acp.agents]]",
  'executable = "/a"',
  'args = ["b"]',
  "",
];

test("the address and the command are the only lines that change", () => {
  const text = config.join("\n");
  expect([rewriteConfig.serverUrl(text), rewriteConfig.token(text)]).toEqual(["http://127.0.0.1:1", "t"]);
  const pipe = { command: "/p", args: ["--"] };
  expect(rewriteConfig.text(text, { serverUrl: "http://127.0.0.1:2", pipe }).split("\n")).toEqual([
    'server_url = "http://127.0.0.1:2"',
    'token = "t"',
    "[[acp.agents]]",
    'executable = "/p"',
    'args = ["--","/a","b"]',
    "",
  ]);
  expect(rewriteConfig.text(text, { serverUrl: "x", pipe: null })).toContain('executable = "/a"');
});

test("the relay can be left out, and its file is found by name", () => {
  const text = config.join("\n").replace('args = ["b"]', 'args = ["relay","--audit","/audit","--","/agent","--gate"]');
  const lines = rewriteConfig.text(text, { serverUrl: "x", pipe: null, skipsRelay: true }).split("\n");
  expect(lines).toContain('executable = "/agent"');
  expect(lines).toContain('args = ["--gate"]');
  expect(rewriteConfig.audit(text)).toBe("/audit");
  expect(() => rewriteConfig.audit(config.join("\n"))).toThrow("standin_runner_config_unreadable");
});

test("a file without the lines is refused", () => {
  expect(() => rewriteConfig.serverUrl("[acp]\n")).toThrow("standin_runner_config_unreadable");
});
