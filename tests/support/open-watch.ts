// Tells which files below a folder were opened by anybody while it was watched: the kernel's own notes (inotify).
import { dlopen, FFIType } from "bun:ffi";

export interface OpenWatch {
  /** Names opened since the watch began, in order; an opened folder itself has the name "". */
  opened(): string[];
  close(): void;
}

const inOpen = 0x20;
const nonBlocking = 0x800;

/** Watches the entries of one folder; null where the host cannot. */
export function watchOpens(folder: string): OpenWatch | null {
  if (process.platform !== "linux") return null;
  const libc = open();
  if (libc === null) return null;
  const fd = libc.inotify_init1(nonBlocking);
  if (fd < 0) return null;
  libc.inotify_add_watch(fd, Buffer.from(`${folder}\0`), inOpen);
  const names: string[] = [];
  return {
    opened() {
      const buffer = Buffer.alloc(65_536);
      for (;;) {
        const count = Number(libc.read(fd, buffer, BigInt(buffer.length)));
        if (count <= 0) return names;
        for (let at = 0; at < count; ) {
          const length = buffer.readUInt32LE(at + 12);
          names.push(buffer.toString("utf8", at + 16, at + 16 + length).replace(/\0+$/, ""));
          at += 16 + length;
        }
      }
    },
    close: () => void libc.close(fd),
  };
}

function open() {
  for (const name of ["libc.so.6", "libc.so"]) {
    try {
      return dlopen(name, {
        inotify_init1: { args: [FFIType.i32], returns: FFIType.i32 },
        inotify_add_watch: { args: [FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
        read: { args: [FFIType.i32, FFIType.ptr, FFIType.u64], returns: FFIType.i64 },
        close: { args: [FFIType.i32], returns: FFIType.i32 },
      }).symbols;
    } catch {
      // Another libc lies under another name.
    }
  }
  return null;
}
