// The words that start the program under test: the executable the suite built, or the source where a file is run alone.
import { selfCommand as fromSource } from "../../src/base/self.ts";

export function selfCommand(args: readonly string[]): { readonly command: string; readonly args: string[] } {
  const binary = process.env.PROCTOR_BINARY;
  return binary === undefined ? fromSource(args) : { command: binary, args: [...args] };
}
