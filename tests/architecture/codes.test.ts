// Every fixed code that is thrown has its one sentence: in a room's codes.ts, and by that on the page of codes.
import { expect, test } from "bun:test";
import { Glob } from "bun";
import { sentenceOf } from "../../src/commands/sentences.ts";
import { projectRoot } from "../support/binary.ts";

/** The text between the bracket that opens at `start` and the one that closes it. */
function bracketed(text: string, start: number): string {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if (text[at] === "(") depth += 1;
    if (text[at] === ")" && --depth === 0) return text.slice(start + 1, at);
  }
  return "";
}

/** Codes in `new Failure(…)`: its literals, without those that something is only compared with. */
export function thrownCodes(source: string): string[] {
  const found: string[] = [];
  for (const match of source.matchAll(/new Failure(?:<[^>(]*>)?\(/g)) {
    const words = bracketed(source, match.index + match[0].length - 1);
    for (const [, compared, code] of words.matchAll(/(===\s*|has\(|\?\?\s*)?"([a-z][a-z0-9]*(?:_[a-z0-9]+)*)"/g))
      if (compared === undefined || compared.startsWith("??")) found.push(code!);
  }
  return found;
}

/** Every code that any file of src throws, with the file. */
async function allThrown(): Promise<Map<string, string>> {
  const codes = new Map<string, string>();
  for await (const path of new Glob("src/**/*.ts").scan(projectRoot))
    for (const code of thrownCodes(await Bun.file(projectRoot + path).text())) codes.set(code, path);
  return codes;
}

test("thrownCodes() reads plain, typed, chosen and folded literals, and no word that is only compared", () => {
  const source = `throw new Failure("one_code"); new Failure<Room>(kind === "not_this" ? "two_a" : "two_b", { cause });
    new Failure(
      systemCodeOf(error) === "EEXIST" ? "three_a" : "three_b",
    ); new Failure(known.get(key) ?? "four");`;

  expect(thrownCodes(source)).toEqual(["one_code", "two_a", "two_b", "three_a", "three_b", "four"]);
});

test("every thrown code has one sentence on the page of codes and at the front door", async () => {
  const page = await Bun.file(`${projectRoot}docs/errors.md`).text();
  const thrown = await allThrown();

  const unlisted: string[] = [];
  const unsaid: string[] = [];
  for (const [code, path] of thrown) {
    if (!page.includes(`\n| \`${code}\` | `)) unlisted.push(`${code} in ${path}`);
    if ((await sentenceOf(code)) === "The work was refused.") unsaid.push(`${code} in ${path}`);
  }

  expect(thrown.size).toBeGreaterThan(150);
  expect(unlisted).toEqual([]);
  expect(unsaid).toEqual([]);
});

test("every code of the page is one sentence, or a few, that end", async () => {
  const page = await Bun.file(`${projectRoot}docs/errors.md`).text();

  const rows = [...page.matchAll(/^\| `([^`]+)` \| (.*) \|$/gm)];
  expect(rows.length).toBeGreaterThan(200);
  for (const [, code, sentence] of rows) expect(sentence, code).toMatch(/^\S.*[.!?)]$/);
});
