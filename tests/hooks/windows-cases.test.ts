// The operator's files as Windows really leaves them: what an elevated shell makes, what is inherited, who may own.
import { expect, test } from "bun:test";
import { judgePathSecurity } from "../../src/base/windows-acl.ts";
import { descriptorOf } from "../support/descriptor.ts";

const me = "S-1-5-21-1004336348-1177238915-682003330-1001";
const system = "S-1-5-18";
const judge = (sddl: string, user = me, isReparsePoint = false) =>
  judgePathSecurity({ descriptor: descriptorOf(sddl), isReparsePoint }, user);
const three = `(A;;FA;;;${me})(A;;FA;;;SY)(A;;FA;;;BA)`;

test("files of an elevated shell, odd entries and inherited rights are refused, the recipe's result is taken (B50, O087)", () => {
  // What the recipe of docs/hooks.md leaves, on a file and on a folder.
  expect(judge(`O:${me}D:P${three}`)).toBe("private");
  expect(judge(`O:${me}D:P(A;OICI;FA;;;${me})(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)`)).toBe("private");
  // The recipe without its owner line, in an elevated shell: the group owns.
  expect(judge(`O:BAD:P${three}`)).toBe("shared");
  expect(judge(`O:SYD:P${three}`)).toBe("shared");
  // Inherited entries count like any other.
  expect(judge(`O:${me}D:${three}(A;ID;FR;;;BU)`)).toBe("shared");
  expect(judge(`O:${me}D:${three}(A;ID;FA;;;AU)`)).toBe("shared");
  expect(judge(`O:${me}D:AI(A;ID;FA;;;${me})(A;ID;FA;;;SY)(A;ID;FA;;;BA)`)).toBe("private");
  // "Owner rights" and "creator owner" are names for whoever comes, not for the user.
  expect(judge(`O:${me}D:P${three}(A;;FA;;;OW)`)).toBe("shared");
  expect(judge(`O:${me}D:P${three}(A;OICIIO;GA;;;CO)`)).toBe("shared");
  // A denial takes rights away and opens nothing.
  expect(judge(`O:${me}D:P(D;;FA;;;WD)${three}`)).toBe("private");
  // A junction in the place of the state folder.
  expect(judge(`O:${me}D:P${three}`, me, true)).toBe("shared");
});

test("a service that runs as SYSTEM owns its own files, and another account's files are not its own (B50)", () => {
  expect(judge("O:SYD:P(A;;FA;;;SY)(A;;FA;;;BA)", system)).toBe("private");
  expect(judge(`O:${me}D:P${three}`, system)).toBe("shared");
  // Accounts are compared by number: one that differs in its last part only is somebody else.
  const other = me.replace(/1001$/, "1002");
  expect(judge(`O:${other}D:P${three}`)).toBe("shared");
  expect(judge(`O:${me}D:P${three}(A;;FA;;;${other})`)).toBe("shared");
});
