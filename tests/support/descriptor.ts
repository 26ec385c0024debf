// Security descriptors of Windows from their own text form (SDDL), in the self-relative binary form that the system
// hands out: header, owner, access list. Only what the tests name is known.

const short: Readonly<Record<string, string>> = {
  ...{ SY: "S-1-5-18", BA: "S-1-5-32-544", BU: "S-1-5-32-545", AU: "S-1-5-11", WD: "S-1-1-0" },
  ...{ CO: "S-1-3-0", OW: "S-1-3-4" },
};
const types: Readonly<Record<string, number>> = { A: 0, D: 1 };
const flagBits: Readonly<Record<string, number>> = { OI: 1, CI: 2, NP: 4, IO: 8, ID: 16 };
const rights: Readonly<Record<string, number>> = { FA: 0x1f01ff, FR: 0x120089, GA: 0x10000000 };

function sidOf(text: string): Buffer {
  const sid = short[text] ?? text;
  const [authority, ...parts] = sid.split("-").slice(2).map(Number);
  const bytes = Buffer.alloc(8 + 4 * parts.length);
  bytes.set([1, parts.length, 0, 0, 0, 0, 0, authority!]);
  for (const [at, part] of parts.entries()) bytes.writeUInt32LE(part, 8 + 4 * at);
  return bytes;
}

function entryOf(text: string): Buffer {
  const [type, flags, right, , , sid] = text.split(";") as [string, string, string, string, string, string];
  const bytes = Buffer.concat([Buffer.alloc(8), sidOf(sid)]);
  const bits = (flags.match(/../g) ?? []).reduce((sum, one) => sum | flagBits[one]!, 0);
  bytes.set([types[type]!, bits]);
  bytes.writeUInt16LE(bytes.length, 2);
  bytes.writeUInt32LE(rights[right]!, 4);
  return bytes;
}

/** `O:<sid>D:<flags>(ace)(ace)…` as bytes. */
export function descriptorOf(sddl: string): Buffer {
  const [, owner, control, entries] = /^O:([^:]+?)D:([A-Z]*)((?:\([^)]*\))*)$/.exec(sddl) as unknown as string[];
  const list = [...entries!.matchAll(/\(([^)]*)\)/g)].map((found) => entryOf(found[1]!));
  const acl = Buffer.concat([Buffer.alloc(8), ...list]);
  acl[0] = 2;
  acl.writeUInt16LE(acl.length, 2);
  acl.writeUInt16LE(list.length, 4);
  const head = Buffer.alloc(20);
  head[0] = 1;
  // Self-relative with a list; "P" says that nothing is inherited.
  head.writeUInt16LE(0x8004 | (control!.includes("P") ? 0x1000 : 0), 2);
  head.writeUInt32LE(20, 4);
  const sid = sidOf(owner!);
  head.writeUInt32LE(20 + sid.length, 16);
  return Buffer.concat([head, sid, acl]);
}
