// The judgement of Windows access lists, over descriptors in the form the system hands out.
import { expect, test } from "bun:test";
import { judgePathSecurity } from "../../src/base/windows-acl.ts";
import { windowsPathPrivacy } from "../../src/base/windows-privacy.ts";

const user = "S-1-5-21-1004336348-1177238915-682003330-1001";
const system = "S-1-5-18";
const administrators = "S-1-5-32-544";
const everyone = "S-1-1-0";

function sidBytes(sid: string): Buffer {
  const [authority, ...parts] = sid.split("-").slice(2).map(Number);
  const bytes = Buffer.alloc(8 + 4 * parts.length);
  bytes.set([1, parts.length]);
  bytes.writeUIntBE(authority!, 2, 6);
  for (const [i, part] of parts.entries()) bytes.writeUInt32LE(part, 8 + 4 * i);
  return bytes;
}

interface Ace {
  readonly sid: string;
  readonly type?: number;
  readonly flags?: number;
  readonly mask?: number;
}

function aceBytes(ace: Ace): Buffer {
  const sid = sidBytes(ace.sid);
  const head = Buffer.alloc(8);
  head.set([ace.type ?? 0, ace.flags ?? 0]);
  head.writeUInt16LE(8 + sid.length, 2);
  head.writeUInt32LE(ace.mask ?? 0x1f01ff, 4);
  return Buffer.concat([head, sid]);
}

/** A self-relative descriptor: header, list, owner. */
function descriptor(aces: readonly Ace[] | null, changes: { owner?: string | null; control?: number } = {}): Buffer {
  const owner = changes.owner === null ? Buffer.alloc(0) : sidBytes(changes.owner ?? user);
  const list = aces === null ? Buffer.alloc(0) : Buffer.concat([Buffer.alloc(8), ...aces.map(aceBytes)]);
  if (aces !== null) {
    list[0] = 2;
    list.writeUInt16LE(list.length, 2);
    list.writeUInt16LE(aces.length, 4);
  }
  const head = Buffer.alloc(20);
  head[0] = 1;
  head.writeUInt16LE(changes.control ?? 0x8004, 2);
  head.writeUInt32LE(owner.length === 0 ? 0 : 20 + list.length, 4);
  head.writeUInt32LE(aces === null ? 0 : 20, 16);
  return Buffer.concat([head, list, owner]);
}

const judge = (bytes: Uint8Array, isReparsePoint = false) =>
  judgePathSecurity({ descriptor: bytes, isReparsePoint }, user);
const three: Ace[] = [{ sid: user }, { sid: system }, { sid: administrators }];

test("only the user, SYSTEM and Administrators may be granted anything (O087)", () => {
  expect(judge(descriptor(three))).toBe("private");
  expect(judge(descriptor([]))).toBe("private");
  expect(judge(descriptor([...three, { sid: everyone, type: 1 }]))).toBe("private");
  for (const extra of [
    { sid: everyone },
    { sid: "S-1-5-11" },
    { sid: "S-1-5-32-545" },
    { sid: everyone, mask: 0 },
    { sid: everyone, flags: 0x08 },
    { sid: user, type: 5 },
    { sid: user, type: 9 },
    { sid: user, type: 17 },
  ]) {
    expect([extra, judge(descriptor([...three, extra]))]).toEqual([extra, "shared"]);
  }
});

test("owner, absent lists and reparse points are refused (O087, O088, O172)", () => {
  expect(judge(descriptor(three, { owner: administrators }))).toBe("shared");
  expect(judge(descriptor(three, { owner: null }))).toBe("shared");
  expect(judge(descriptor(null))).toBe("shared");
  expect(judge(descriptor(three, { control: 0x8000 }))).toBe("shared");
  expect(judge(descriptor(three), true)).toBe("shared");
});

test("a descriptor cut anywhere is never private", () => {
  const whole = descriptor(three);
  for (let length = 0; length < whole.length; length++) expect(judge(whole.subarray(0, length))).not.toBe("private");
  expect(judge(descriptor(three, { control: 0x0004 }))).toBe("unreadable");
});

test("without a reader of the system no path is private", () => {
  expect(windowsPathPrivacy().isPrivate("C:\\Users\\me\\auth")).toBe(false);
  expect(() => windowsPathPrivacy().makePrivate("C:\\x")).toThrow("windows_security_unavailable");
});
