// What the pages of the hooks promise and deny, compared with the pages and with the program.
import { expect, test } from "bun:test";
import { Glob } from "bun";
import { hooksCodes } from "../../src/hooks/codes.ts";
import { hookLimits } from "../../src/hooks/limits.ts";
import { projectRoot } from "../support/binary.ts";
import { desk } from "./desk.ts";
import { observed } from "./observed.ts";

const page = async (name: string) => (await Bun.file(`${projectRoot}docs/${name}`).text()).replace(/\s+/g, " ");
const blocks = (text: string, language: string) =>
  [...text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map((found) => found[1]!);

test("the page says that the capacity rule and the final shape are open to review, with the numbers (O066)", async () => {
  const text = await page("hooks.md");

  expect(text).toContain("at most 256 reports of a Session and 65,536 in all");
  expect(text).toContain("still open to review");
  expect(text).toContain(`${hookLimits.maxInputBytes.toLocaleString("en")} bytes`);
});

test("the page denies what a report, a list, a brief, a snapshot and these tests do not prove (O111, O127, O173, O174)", async () => {
  const text = await page("hooks.md");

  for (const denial of [
    "no complete capture is promised",
    "coverage always says incomplete",
    "never run the work again",
    "says only that it was obtained",
    "not that host or agent took it in",
    "never means done",
    "they authenticate nobody",
    "is no job and no validation",
    "nor in which order work was done",
    "no trust dialogue, no account's model, no browser and no hosted chat",
    "no acceptance of an earlier prototype counts",
    "A production server without the endpoints is no place to try this",
    "has no right to report under the old one",
  ])
    expect(text).toContain(denial);
});

test("the Windows recipe takes inherited access away, sets the owner, grants the three, and its JSON is escaped (O092)", async () => {
  const text = await Bun.file(`${projectRoot}docs/hooks.md`).text();
  const [recipe] = blocks(text, "powershell");
  const calls = recipe!.split("\n").flatMap((line) => /icacls (\$\w+) (.*)$/.exec(line.trim())?.slice(1) ?? []);
  const json = blocks(text, "json").map((block) => JSON.parse(block) as Record<string, unknown>);
  const windows = json.find((one) => String(one["state_dir"]).startsWith("C:"))!;

  for (const [target, grant] of [
    ["$file", "F"],
    ["$folder", "(OI)(CI)F"],
  ]) {
    const of = calls.filter((_, at) => at % 2 === 1 && calls[at - 1] === target);
    expect(of).toEqual([
      "/inheritance:r",
      "/setowner $me",
      `/grant:r "\${me}:${grant}" "*S-1-5-18:${grant}" "*S-1-5-32-544:${grant}"`,
    ]);
  }
  expect(recipe).toContain("WindowsIdentity]::GetCurrent().User");
  // One parsed path, absolute and canonical: no forward slash, no relative part, no doubled separator.
  expect(windows["state_dir"]).toMatch(/^C:(\\[^\\/:]+)+$/);
  expect(json[0]).toContainAllKeys([
    ...["server_url", "authorization_file", "project", "project_root"],
    ...["workflow_session_id", "local_session_id", "state_dir"],
  ]);
});

test("no structured receipt makes a report more than unknown, and the page says so (O100)", async () => {
  await using d = await desk();
  const receipts = [
    { exit_code: 0 },
    { tool_response: { exit_code: 0, metadata: { exit_code: 0 }, isError: false, success: true } },
    { tool_response: "Process exited with code 0" },
    { tool_output: { status: "completed" }, tool_result: { ok: true }, is_error: false },
  ];

  for (const [at, receipt] of receipts.entries()) {
    const event = await observed(d, { tool_use_id: `call-${at}`, ...receipt });
    expect(event["exit_code"]).toBeNull();
  }
  const text = await page("hooks.md");
  expect(text).toContain("no structured receipt is recognised today");
  expect(text).toContain("tests of its own for each tool");
  const files = Array.from(new Glob("*.ts").scanSync(`${projectRoot}src/hooks`));
  const sources = await Promise.all(files.map((file) => Bun.file(`${projectRoot}src/hooks/${file}`).text()));
  expect(sources.join("").match(/tool_response|tool_output|tool_input|transcript/g)).toBeNull();
});

test("a Chinese page stands beside each English one, links to it and names the same commands, files and states (O188)", async () => {
  for (const name of ["experience", "hooks"]) {
    const [english, chinese] = [await page(`${name}.md`), await page(`${name}.zh.md`)];
    expect(english).toContain(`](${name}.zh.md)`);
    expect(chinese).toContain(`](${name}.md)`);
    expect(chinese.match(/[\u4e00-\u9fff]/g)!.length).toBeGreaterThan(300);
    const commands = (text: string) => new Set(text.match(/proctor (?:hook|handoff) \w+/g));
    expect(commands(english)).toEqual(commands(chinese));
  }
  const [english, chinese] = [await page("experience.md"), await page("experience.zh.md")];
  const fixed = (text: string) =>
    [...new Set(text.match(/`[a-z_:]+`/g))].filter((word) => word !== "`prepared`" && word !== "`project:read`").sort();
  expect(fixed(chinese)).toEqual(fixed(english));
});

test("every reason a hook can give is on the generated page with its sentence", async () => {
  const text = await page("errors.md");

  for (const [code, sentence] of Object.entries(hooksCodes)) expect(text).toContain(`\`${code}\` | ${sentence}`);
});
