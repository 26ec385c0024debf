// Judges a Windows security descriptor in its self-relative binary form: private means that the current user owns the
// path, that it is no reparse point, and that nobody but the user, SYSTEM and the Administrators is granted anything.
// Pure; what cannot be read whole is `unreadable`, and a caller treats that like a refusal.

export type AclVerdict = "private" | "shared" | "unreadable";

export interface PathSecurity {
  /** The bytes that GetFileSecurity and its kin return. */
  readonly descriptor: Uint8Array;
  readonly isReparsePoint: boolean;
}

const systemSid = "S-1-5-18";
const administratorsSid = "S-1-5-32-544";
const daclPresent = 0x0004;
const selfRelative = 0x8000;
const accessAllowed = 0;
const accessDenied = 1;

class Unreadable extends Error {}

/** Whether only `userSid` (the user of this process), SYSTEM and the Administrators have access. */
export function judgePathSecurity(security: PathSecurity, userSid: string): AclVerdict {
  if (security.isReparsePoint) return "shared";
  try {
    return judgeDescriptor(security.descriptor, userSid);
  } catch (error) {
    if (error instanceof Unreadable) return "unreadable";
    throw error;
  }
}

function judgeDescriptor(bytes: Uint8Array, userSid: string): AclVerdict {
  const control = u16(bytes, 2);
  if (u8(bytes, 0) !== 1 || (control & selfRelative) === 0) throw new Unreadable();
  const ownerAt = u32(bytes, 4);
  const daclAt = u32(bytes, 16);
  if (ownerAt === 0 || sidAt(bytes, ownerAt, bytes.length) !== userSid) return "shared";
  // A list that is absent or NULL grants everything to everybody; an empty one grants nothing to nobody.
  if ((control & daclPresent) === 0 || daclAt === 0) return "shared";
  return judgeList(bytes, daclAt, new Set([userSid, systemSid, administratorsSid]));
}

function judgeList(bytes: Uint8Array, at: number, allowed: ReadonlySet<string>): AclVerdict {
  const end = at + u16(bytes, at + 2);
  const count = u16(bytes, at + 4);
  if (end > bytes.length) throw new Unreadable();
  let entry = at + 8;
  for (let i = 0; i < count; i++) {
    const [type, size] = [u8(bytes, entry), u16(bytes, entry + 2)];
    if (size < 8 || entry + size > end) throw new Unreadable();
    // Neither mask nor inheritance flags make a grant to somebody else harmless: they can be changed by it later.
    if (type === accessAllowed) {
      if (size < 12) return "shared";
      if (!allowed.has(sidAt(bytes, entry + 8, entry + size))) return "shared";
    } else if (type !== accessDenied) return "shared";
    entry += size;
  }
  return "private";
}

/** The text form of the SID at `at`; it must end before `end`. */
function sidAt(bytes: Uint8Array, at: number, end: number): string {
  const parts = u8(bytes, at + 1);
  if (u8(bytes, at) !== 1 || parts > 15 || at + 8 + 4 * parts > end) throw new Unreadable();
  const authority =
    u16BigEndian(bytes, at + 2) * 2 ** 32 + u16BigEndian(bytes, at + 4) * 2 ** 16 + u16BigEndian(bytes, at + 6);
  const words = Array.from({ length: parts }, (_, i) => u32(bytes, at + 8 + 4 * i));
  return ["S-1", authority, ...words].join("-");
}

function u8(bytes: Uint8Array, at: number): number {
  const value = bytes[at];
  if (value === undefined) throw new Unreadable();
  return value;
}

function u16(bytes: Uint8Array, at: number): number {
  return u8(bytes, at) + u8(bytes, at + 1) * 256;
}

function u16BigEndian(bytes: Uint8Array, at: number): number {
  return u8(bytes, at) * 256 + u8(bytes, at + 1);
}

function u32(bytes: Uint8Array, at: number): number {
  return u16(bytes, at) + u16(bytes, at + 2) * 65_536;
}
