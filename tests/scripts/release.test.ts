// The release's own tools: the ELF reader, the bill of materials, the checksums, the man page.
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { binaryName, targets } from "../../build.ts";
import { elfFacts } from "../../scripts/elf.ts";
import { manPage } from "../../scripts/man-page.ts";
import { sumsOf } from "../../scripts/release.ts";
import { sbom } from "../../scripts/sbom.ts";
import { proctorBinary, projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

test.skipIf(process.platform !== "linux")("elfFacts() tells machine, loader and libraries of the executable", () => {
  const { machine, interpreter, needed } = elfFacts(readFileSync(proctorBinary));

  expect(machine).toBe(process.arch === "arm64" ? "aarch64" : "x86_64");
  expect(interpreter).toMatch(/\/ld-(?:linux|musl)/);
  expect(needed.some((name) => name.startsWith("libc."))).toBe(true);
});

test("elfFacts() refuses what is no 64-bit ELF file", () => {
  const other = new Uint8Array(64).fill(1);
  const narrow = new Uint8Array(64);
  narrow.set([0x7f, 0x45, 0x4c, 0x46, 1, 1]);

  for (const bytes of [new Uint8Array(), other, narrow]) expect(() => elfFacts(bytes)).toThrow("not a 64-bit");
});

test("sbom() names Bun and exactly the packages the bundler took in, each locked, licensed and with its hash", () => {
  const bill = sbom() as { bomFormat: string; components: Array<Record<string, never>> };

  expect(bill.bomFormat).toBe("CycloneDX");
  expect(bill.components.map((one) => String(one.name))).toEqual(["citty", "zod", "bun"]);
  for (const one of bill.components) expect(JSON.stringify(one)).toMatch(/"alg":"SHA-512","content":"[0-9a-f]{128}"/);
});

test("sumsOf() writes what sha256sum reads, sorted by name and without itself", async () => {
  await using dir = await tempFolder();
  writeFileSync(`${dir.path}/b`, "two\n");
  writeFileSync(`${dir.path}/a`, "one\n");
  writeFileSync(`${dir.path}/SHA256SUMS`, "old\n");

  const lines = sumsOf(dir.path).split("\n");

  expect(lines.map((line) => line.slice(64))).toEqual(["  a", "  b", ""]);
  expect(lines[0]).toStartWith(new Bun.CryptoHasher("sha256").update("one\n").digest("hex"));
});

test("every target has a name of its own, and the workflow's promise of ten holds", () => {
  const names = targets.map(binaryName);

  expect(new Set(names).size).toBe(10);
  expect(names.filter((name) => name.endsWith(".exe"))).toEqual([
    "proctor-windows-x64.exe",
    "proctor-windows-arm64.exe",
  ]);
});

test("manPage() has every command, no date, no path of this machine, and no line that troff would take as its own", async () => {
  const page = await manPage();

  for (const name of ["accept", "gateway issue", "hook", "server token create", "self verify"])
    expect(page).toContain(`.SS "proctor ${name}`);
  expect(page).not.toContain(projectRoot);
  expect(page).not.toMatch(/20\d\d-\d\d-\d\d/);
  for (const line of page.split("\n"))
    expect(line).toMatch(/^(?:[^.'].*|\.(?:TH|SH|SS|TP|PP|BR?|I|RI|nf|fi|RS|RE)\b.*|)$/);
});

const man = Bun.which("man", { PATH: "/usr/bin:/bin" });
test.skipIf(man === null)("the manual renders without a warning, a command a heading", () => {
  const run = Bun.spawnSync([man!, "--warnings", "-E", "UTF-8", "-l", `${projectRoot}docs/man/proctor.1`], {
    env: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", MANWIDTH: "80" },
  });

  expect(run.stderr.toString()).not.toContain("warning");
  expect(run.stdout.toString()).toMatch(/^ {3}proctor gateway issue \[OPTIONS\]/m);
});
