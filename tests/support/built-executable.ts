// Preloaded by the suite: what the code under test starts of itself is the executable the suite built, as it is for a user.
import { mock } from "bun:test";
import * as self from "../../src/base/self.ts";

const binary = process.env.PROCTOR_BINARY;
if (binary !== undefined)
  mock.module("../../src/base/self.ts", () => ({
    ...self,
    selfCommand: (args: readonly string[]) => ({ command: binary, args: [...args] }),
  }));
