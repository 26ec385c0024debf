// Reads of a 64-bit little-endian ELF file what a stranger asks before running it: machine, loader, needed libraries.
// Refuses every other file; reads only inside the bytes it was given.

export interface ElfFacts {
  readonly machine: "x86_64" | "aarch64" | "other";
  /** The program that loads it; empty for a static file. */
  readonly interpreter: string;
  /** Shared libraries in the order of the file. */
  readonly needed: readonly string[];
}

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

const segmentTypes = { load: 1, dynamic: 2, interpreter: 3 } as const;
const dynamicTags = { end: 0, needed: 1, strings: 5 } as const;

/** The facts of `file`. Throws when it is no such ELF file. */
export function elfFacts(file: Uint8Array): ElfFacts {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (file.length < 64 || view.getUint32(0) !== 0x7f454c46 || file[4] !== 2 || file[5] !== 1)
    throw new Error("not a 64-bit little-endian ELF file");
  const machine = view.getUint16(18, true);
  const segments = segmentsOf(view);
  const loader = segments.find((one) => one.type === segmentTypes.interpreter);
  return {
    machine: machine === 62 ? "x86_64" : machine === 183 ? "aarch64" : "other",
    interpreter: loader === undefined ? "" : textAt(file, loader.offset),
    needed: neededOf(file, view, segments),
  };
}

function segmentsOf(view: DataView): Segment[] {
  const start = Number(view.getBigUint64(32, true));
  const [size, count] = [view.getUint16(54, true), view.getUint16(56, true)];
  return Array.from({ length: count }, (_, n) => {
    const at = start + n * size;
    return {
      type: view.getUint32(at, true),
      offset: Number(view.getBigUint64(at + 8, true)),
      address: Number(view.getBigUint64(at + 16, true)),
      size: Number(view.getBigUint64(at + 32, true)),
    };
  });
}

function neededOf(file: Uint8Array, view: DataView, segments: readonly Segment[]): string[] {
  const dynamic = segments.find((one) => one.type === segmentTypes.dynamic);
  if (dynamic === undefined) return [];
  const names: number[] = [];
  let strings = 0;
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += 16) {
    const tag = Number(view.getBigInt64(at, true));
    const value = Number(view.getBigUint64(at + 8, true));
    if (tag === dynamicTags.end) break;
    if (tag === dynamicTags.needed) names.push(value);
    if (tag === dynamicTags.strings) strings = value;
  }
  // The table's place is told as an address in memory; a load segment says where that lies in the file.
  const home = segments.find(
    (one) => one.type === segmentTypes.load && strings >= one.address && strings < one.address + one.size,
  );
  if (home === undefined) throw new Error("the string table lies in no segment");
  return names.map((name) => textAt(file, strings - home.address + home.offset + name));
}

function textAt(file: Uint8Array, offset: number): string {
  const end = file.indexOf(0, offset);
  return new TextDecoder().decode(file.subarray(offset, end));
}
