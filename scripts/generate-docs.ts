// Writes docs/errors.md, docs/limits.md and docs/man/proctor.1 from the code's own tables, so that they cannot lag.
//   bun scripts/generate-docs.ts           writes all three
// `tests/architecture/docs.test.ts` fails when a page is not what this would write.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { manPage } from "./man-page.ts";

const root = `${import.meta.dir}/..`;
const rooms = [
  "base",
  "commands",
  "relay",
  "gateway",
  "hooks",
  "server",
  "runner",
  "standins",
  "harness",
  "judge",
  "evidence",
  "calibrate",
];

type Named = Readonly<Record<string, unknown>>;

/** Every exported value of a side table, flattened one level: [name, value]. */
async function tableOf(room: string, file: string): Promise<Array<readonly [string, unknown]>> {
  const path = `${root}/src/${room}/${file}`;
  if (!existsSync(path)) return [];
  const module = (await import(path)) as Named;
  return Object.entries(module).flatMap(([name, value]) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value)
      : [[name, value] as const],
  );
}

/** The page of codes: a section a room, one sentence a code. */
export async function errorsPage(): Promise<string> {
  const lines = [
    "# Codes",
    "",
    "Every refusal has a fixed code and one sentence. Written by `scripts/generate-docs.ts` from the rooms' `codes.ts`.",
  ];
  for (const room of rooms) {
    const codes = (await tableOf(room, "codes.ts")).filter(([, sentence]) => typeof sentence === "string");
    if (codes.length === 0) continue;
    lines.push("", `## ${room}`, "", "| code | means |", "|---|---|");
    for (const [code, sentence] of codes) lines.push(`| \`${code}\` | ${String(sentence).replaceAll("|", "\\|")} |`);
  }
  return `${lines.join("\n")}\n`;
}

/** The page of numbers: a section a room. */
export async function limitsPage(): Promise<string> {
  const lines = [
    "# Limits",
    "",
    "Every bound has a name with its unit. Written by `scripts/generate-docs.ts` from the rooms' `limits.ts`.",
  ];
  for (const room of rooms) {
    const numbers = (await tableOf(room, "limits.ts")).filter(([, value]) => typeof value === "number");
    if (numbers.length === 0) continue;
    lines.push("", `## ${room}`, "", "| name | value |", "|---|---|");
    for (const [name, value] of numbers) lines.push(`| \`${name}\` | ${Number(value).toLocaleString("en-US")} |`);
  }
  return `${lines.join("\n")}\n`;
}

if (import.meta.main) {
  writeFileSync(`${root}/docs/errors.md`, await errorsPage());
  writeFileSync(`${root}/docs/limits.md`, await limitsPage());
  mkdirSync(`${root}/docs/man`, { recursive: true });
  writeFileSync(`${root}/docs/man/proctor.1`, await manPage());
}
