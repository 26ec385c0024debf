// The published vectors of the hooks contract, byte for byte.
import { expect, test } from "bun:test";
import { sha256Hex } from "../../src/base/bytes.ts";
import type { HookConfig } from "../../src/hooks/config-file.ts";
import { adapterId, associationOf, eventId, recordName, recordText, toolLabel } from "../../src/hooks/event.ts";
import { compactAscii, parseExact, plainLine, prettyText } from "../../src/hooks/python-json.ts";
import { requireServerOrigin } from "../../src/hooks/server-address.ts";
import { fingerprintOf, snapshotName } from "../../src/hooks/snapshot.ts";

const config: HookConfig = {
  serverUrl: "http://127.0.0.1:12345",
  authorizationFile: "/tmp/x/auth",
  project: "agent:fixture:project",
  projectRoot: "/tmp/x/project",
  workflowSessionId: "wc_sess_fixture",
  localSessionId: "local-fixture",
  stateDir: "/tmp/x/state",
};

test("identities of conversations and calls equal the vectors", () => {
  expect(adapterId("local-fixture")).toBe("9a5a23deda42b9d92b066409636f2b68d4773daf54984ca915b44f25b8e6c32f");
  expect(eventId("local-fixture", "call-one")).toBe("2ec81071d3501c2817b48e7fcb748d66a545b170e30f9cf318860b252bd08ef7");
  expect(adapterId("本地-会话")).toBe("57ef27f9759a557a631f78bb0ff9887d01e9c0d6402a122b6c0e92f5bf050c09");
  expect(eventId("本地-会话", "é")).toBe("6dcad975e6c533153c06ccf41a7c09962ca017f0a9f03c5e7465956b8636f551");
});

test("association, file name and record bytes equal the vectors", () => {
  const association = associationOf(config);
  const event = {
    project: config.project,
    session_id: config.workflowSessionId,
    adapter_id: adapterId(config.localSessionId),
    event_id: eventId(config.localSessionId, "call-one"),
    observed_tool: "Bash",
    exit_code: null,
  };

  expect(association).toBe("81ae10fc4d06342b9c832b40e7d10ca0ab953f5de6177f966ca193a0f4cd8819");
  expect(recordName(association, event.event_id)).toBe(
    "18742ba9fb86a3a43f3441dd05878552b5a79f62c798cda9b5f88a39691d1159.json",
  );
  expect(recordText(association, event).length).toBe(369);
  expect(sha256Hex(recordText(association, event))).toBe(
    "f8316a1ae656e9f9db434332bedf0ff9ceeaac5dfe6c6b3f85816facf49e4a24",
  );
  const odd = { ...config, projectRoot: '/tmp/项目/é😀\u007f"\\/\t' };
  expect(associationOf(odd)).toBe("65bddf1dcc5b3b19a435443c1a2548c34682f23bcba81d6a71825686c846a9f5");
});

test("snapshot name, fingerprint and file bytes equal the vectors", () => {
  const key = {
    serverUrl: "http://127.0.0.1:12345",
    conversation: "local-one",
    project: "agent:fixture:project",
    sessionId: "wc_sess_fixture",
  };
  const evidence = {
    status: "read",
    local_cwd: "/tmp/x/entry",
    project: "agent:fixture:project",
    session_id: "wc_sess_fixture",
    handoff_brief: {
      basis: { complete: false },
      events: [{ event_id: "event-one", status: "unknown" }],
      note: "项目",
    },
  };

  const fingerprint = fingerprintOf(evidence);

  expect(snapshotName(key)).toBe("recovery-3d6ab104e2b8497680a66948a1887feb955e00c5d613f2695a2580fe973af405.json");
  expect(fingerprint).toBe("fb2cf7061e4a170d3601e79c02403fc379c18b905ccc1566a69157d98aeeb3c4");
  const file = prettyText({ fingerprint, evidence });
  expect(Buffer.byteLength(file)).toBe(457);
  expect(sha256Hex(file)).toBe("17f60482c3ec74da2e56ef540b4897f2da79ad3fa216bcde21ec26822ee4fce0");
});

test("the URL rule takes and refuses what the vectors say (O090)", () => {
  const taken = [
    "https://webcodex.example.com",
    "https://h:8443/",
    "http://127.0.0.1:18880",
    "http://localhost:1",
    "http://[::1]:80/",
    "HTTP://LOCALHOST:99",
  ];
  const refused = [
    "http://example.com",
    "http://127.0.0.2",
    "http://127.1",
    "http://0x7f000001",
    "http://localhost.",
    "https://user@h",
    "https://u:p@h",
    "https://h/path",
    "https://h//",
    "https://h?q=1",
    "https://h#f",
    "https://",
    "https://:443",
    "ftp://h",
    "//h",
    "",
    "https://h:65536",
    "https://h\n",
  ];

  for (const url of taken) expect(() => requireServerOrigin(url)).not.toThrow();
  for (const url of refused) expect(() => requireServerOrigin(url)).toThrow("https_or_loopback_origin_required");
});

test("tool names outside the pattern become labels that keep two tools apart (B38)", () => {
  const long = `mcp__${"a".repeat(70)}`;
  const names = [`${long}1`, `${long}2`, "mcp__npm:@scope/server.x__read/file", "", "a b", "a\n", "a\0", "工具", "ab"];

  const labels = names.map(toolLabel);

  expect(new Set(labels).size).toBe(names.length);
  for (const label of labels) expect(label).toMatch(/^[A-Za-z0-9_.:-]{1,64}$/);
  expect(toolLabel("functions.apply_patch")).toBe("functions.apply_patch");
  expect(toolLabel("a".repeat(64))).toBe("a".repeat(64));
  expect(toolLabel("a".repeat(65))).toBe(`x.${"a".repeat(40)}.${sha256Hex("a".repeat(65)).slice(0, 16)}`);
  expect(toolLabel("")).toBe(`x..${sha256Hex("").slice(0, 16)}`);
});

test("JSON is written in Python's form and whole numbers keep all their digits", () => {
  expect(compactAscii([1, -2, true, false, null, "\b\f\n\r\t\u0001\u007f/é😀"])).toBe(
    String.raw`[1, -2, true, false, null, "\b\f\n\r\t\u0001\u007f/\u00e9\ud83d\ude00"]`,
  );
  expect(plainLine({ b: 1, a: { d: [], c: {} } }, { sorted: true })).toBe('{"a": {"c": {}, "d": []}, "b": 1}');
  expect(plainLine({ "\u{1f600}": 1, "\uffee": 2 }, { sorted: true })).toBe('{"\uffee": 2, "\u{1f600}": 1}');
  expect(plainLine([1.5, 1e16, 1e-7, 1.25e-5, 0.0001, 123456789.25])).toBe(
    "[1.5, 10000000000000000.0, 1e-07, 1.25e-05, 0.0001, 123456789.25]".replace("10000000000000000.0", "1e+16"),
  );
  expect(compactAscii(parseExact("[18446744073709551615, 9007199254740993]")!)).toBe(
    "[18446744073709551615, 9007199254740993]",
  );
  expect(prettyText({ a: [1, {}], b: [] })).toBe('{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}\n');
});
