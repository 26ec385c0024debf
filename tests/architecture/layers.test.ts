// The walls of the house: who may import whom, how long a file may be, and what product code never does.
import { expect, test } from "bun:test";
import { Glob } from "bun";
import { projectRoot } from "../support/binary.ts";

const rooms = ["relay", "gateway", "hooks", "server", "runner", "standins", "harness", "evidence", "calibrate"];
const files = [...new Glob("src/**/*.ts").scanSync({ cwd: projectRoot })].sort();
const sources = new Map(
  await Promise.all(files.map(async (file) => [file, await Bun.file(projectRoot + file).text()] as const)),
);

/** Every module a source names: [what, type only]. */
function importsOf(text: string): Array<readonly [string, boolean]> {
  const found: Array<readonly [string, boolean]> = [];
  for (const match of text.matchAll(/^\s*(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?"([^"]+)"/gm)) {
    found.push([match[2]!, match[1] !== undefined]);
  }
  for (const match of text.matchAll(/\bimport\(\s*"([^"]+)"\s*\)/g)) found.push([match[1]!, false]);
  return found;
}

/** The layer of a file below src/, e.g. "base", "relay", "main". */
function layerOf(path: string): string {
  const parts = path.split("/");
  return parts.length === 2 ? parts[1]!.replace(".ts", "") : parts[1]!;
}

function targetOf(file: string, specifier: string): string {
  return new URL(specifier, `file:///${file}`).pathname.slice(1);
}

const allowed: Record<string, readonly string[]> = {
  main: ["commands", "hooks", "base", "version"],
  version: [],
  base: ["base"],
  contract: ["contract", "base"],
  judge: ["judge", "contract", "base"],
  commands: ["commands", "base", "contract", "version", "judge", ...rooms],
  ...Object.fromEntries(rooms.map((room) => [room, [room, "contract", "base", "version"]])),
};
const judged = ["harness", "evidence", "calibrate"];
for (const room of judged) allowed[room] = [...allowed[room]!, "judge"];

test("no file imports a layer it may not know, and no room imports a room", () => {
  const wrong: string[] = [];
  for (const [file, text] of sources) {
    for (const [specifier] of importsOf(text)) {
      if (!specifier.startsWith(".")) continue;
      const target = targetOf(file, specifier);
      if (!target.startsWith("src/")) continue;
      if (!allowed[layerOf(file)]?.includes(layerOf(target))) wrong.push(`${file} → ${specifier}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("packages are imported only where the house lets them", () => {
  const wrong: string[] = [];
  for (const [file, text] of sources) {
    const layer = layerOf(file);
    for (const [specifier, typeOnly] of importsOf(text)) {
      if (specifier.startsWith(".") || specifier.startsWith("node:") || specifier === "bun") continue;
      if (specifier === "bun:ffi" && layer === "base") continue;
      if (specifier === "bun:sqlite" && layer === "server") continue;
      if (specifier === "zod" && file === "src/contract/schema.ts") continue;
      if ((specifier === "citty" || specifier === "consola") && layer === "commands") continue;
      if (specifier === "ws" && (layer === "runner" || layer === "gateway" || layer === "standins")) continue;
      if (specifier.startsWith("@") && typeOnly) continue;
      wrong.push(`${file} → ${specifier}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("hooks load no npm package and no zod", () => {
  const seen = new Set<string>();
  const left = files.filter((file) => file.startsWith("src/hooks/"));
  const wrong: string[] = [];
  while (left.length > 0) {
    const file = left.pop()!;
    if (seen.has(file)) continue;
    seen.add(file);
    for (const [specifier, typeOnly] of importsOf(sources.get(file) ?? "")) {
      if (typeOnly) continue;
      if (specifier.startsWith(".")) left.push(targetOf(file, specifier));
      else if (!specifier.startsWith("node:") && !specifier.startsWith("bun")) wrong.push(`${file} → ${specifier}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("no source file is longer than 400 lines", () => {
  const long = [...sources].filter(([, text]) => text.split("\n").length > 401).map(([file]) => file);
  expect(long).toEqual([]);
});

test("product code spawns no shell, passes no environment on whole and reads process only at the rim", () => {
  const wrong: string[] = [];
  for (const [file, text] of sources) {
    if (/shell:\s*true|\b(?:sh|bash)",\s*"-c"/.test(text)) wrong.push(`${file}: shell`);
    if (/env:\s*process\.env\b|\.\.\.process\.env\b|\.\.\.processEnvironment\(\)|\bBun\.env\b/.test(text))
      wrong.push(`${file}: whole environment`);
    const rim = file.startsWith("src/commands/") || file === "src/base/self.ts" || file === "src/main.ts";
    if (!rim && /\bprocess\.(?:env|cwd\(\)|argv)/.test(text)) wrong.push(`${file}: process.*`);
  }
  expect(wrong).toEqual([]);
});

test("every source file opens with a line that says what it promises", () => {
  const silent = [...sources].filter(([, text]) => !/^(?:\/\/|\/\*)/.test(text)).map(([file]) => file);
  expect(silent).toEqual([]);
});
