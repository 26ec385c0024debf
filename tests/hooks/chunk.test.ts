// What a hook loads: the built chunks reachable from the hook's door hold our own files only, no npm package.
import { expect, test } from "bun:test";

const root = `${import.meta.dir}/../..`;

/** Every source file that a build of `entry` takes in, as its metafile lists them. */
async function inputsOf(entry: string): Promise<string[]> {
  const built = await Bun.build({ entrypoints: [`${root}/${entry}`], target: "bun", splitting: true, metafile: true });
  return Object.keys(built.metafile?.inputs ?? {});
}

test("the hook chunk is made of src/hooks and src/base alone", async () => {
  const inputs = await inputsOf("src/hooks/entry.ts");

  expect(inputs.filter((path) => path.endsWith("hooks/observe.ts")).length).toBe(1);
  expect(inputs.filter((path) => path.includes("node_modules"))).toEqual([]);
  expect(inputs.filter((path) => !/(?:^|\/)src\/(?:hooks|base)\/[a-z-]+\.ts$/.test(path))).toEqual([]);
});

test("the list of inputs would show a package", async () => {
  const inputs = await inputsOf("src/contract/schema.ts");

  expect(inputs.some((path) => path.includes("node_modules/zod"))).toBe(true);
});
