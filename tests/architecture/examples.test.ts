// The example files are real: they parse, their command lines are ones the executable takes, and the shell one runs.
import { expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { readArguments } from "../../src/commands/strict-args.ts";
import { commandTable } from "../../src/commands/table.ts";
import { proctorBinary, projectRoot } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

// The shell example runs a whole acceptance, on a machine that may do other things as well.
setDefaultTimeout(300_000);
const folder = `${projectRoot}examples`;
const read = (name: string) => Bun.file(`${folder}/${name}`).text();

/** Every `proctor COMMAND …` of a text up to a redirection, a separator or the line's end, as words. */
function commandLines(text: string): string[][] {
  const code = text.replace(/^\s*#.*$/gm, "");
  return [...code.matchAll(/(?:\.|\/opt)\/proctor ([a-z][^\n;|&>]*)/g)].map((match) =>
    (match[1]!.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^"|"$/g, "").replace(/'$/, "")),
  );
}

test("there is an example for each engine the page names", async () => {
  const page = await Bun.file(`${projectRoot}docs/scale.md`).text();

  for (const name of readdirSync(folder)) expect(page).toContain(`../examples/${name}`);
});

test("every command line of the examples is one the executable takes", async () => {
  for (const name of readdirSync(folder)) {
    const lines = commandLines(await read(name));
    expect(lines.length, name).toBeGreaterThan(0);
    for (const [command = "", ...words] of lines) {
      const { default: declared } = await commandTable[command]!();
      expect(() => readArguments(declared, words), `${name}: ${command} ${words.join(" ")}`).not.toThrow();
    }
  }
});

test("the Kubernetes job parses: one index a pod, no privilege, evidence on a local disk", async () => {
  // biome-ignore lint/suspicious/noExplicitAny: a foreign format, looked into here only.
  const job = Bun.YAML.parse(await read("kubernetes-job.yaml")) as any;
  const pod = job.spec.template.spec;

  expect([job.apiVersion, job.kind, job.spec.completionMode]).toEqual(["batch/v1", "Job", "Indexed"]);
  expect(pod.containers[0].command[2]).toContain("$JOB_COMPLETION_INDEX");
  expect(pod.containers[0].securityContext.capabilities.drop).toEqual(["ALL"]);
  expect(pod.securityContext.runAsNonRoot).toBe(true);
  expect(pod.volumes[0]).toEqual({ name: "work", emptyDir: {} });
});

test("the CI matrix parses: no permission by default, every action pinned by a whole hash", async () => {
  const text = await read("github-matrix.yml");
  const flow = Bun.YAML.parse(text) as { permissions: unknown; jobs: Record<string, unknown> };

  expect(flow.permissions).toEqual({});
  expect(Object.keys(flow.jobs)).toEqual(["accept", "join"]);
  for (const [, at] of text.matchAll(/uses: [^@\s]+@(\S+)/g)) expect(at).toMatch(/^[0-9a-f]{40}$/);
});

const parallel = Bun.which("parallel", { PATH: "/usr/bin:/bin" });

test("the shell example is executable and parses", () => {
  expect(statSync(`${folder}/parallel.sh`).mode & 0o111).toBe(0o111);
  expect(Bun.spawnSync(["/bin/sh", "-n", `${folder}/parallel.sh`]).exitCode).toBe(0);
});

test.skipIf(parallel === null)("the shell example runs on this machine and joins its run into a page", async () => {
  await using dir = await tempFolder();
  copyFileSync(`${folder}/parallel.sh`, `${dir.path}/parallel.sh`);
  symlinkSync(proctorBinary, `${dir.path}/proctor`);
  writeFileSync(`${dir.path}/hosts`, ":\n");

  const ran = Bun.spawnSync(["/bin/sh", "parallel.sh", "hosts", "1"], {
    cwd: dir.path,
    env: { PATH: "/usr/bin:/bin", HOME: dir.path, TMPDIR: dir.path },
  });

  expect(JSON.parse(ran.stdout.toString())).toMatchObject({ reports: 1, passed: 1, all_passed: true });
  expect(await Bun.file(`${dir.path}/all.html`).text()).toContain("<!doctype html>");
  expect(ran.exitCode).toBe(0);
});
