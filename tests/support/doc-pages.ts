// The project's own pages, as paths from its root. Two patterns: a brace with a slash inside matches nothing in Bun.
import { Glob } from "bun";
import { projectRoot } from "./binary.ts";

export const docPages: readonly string[] = ["*.md", "docs/**/*.md", ".github/**/*.md"]
  .flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: projectRoot, dot: true })])
  .sort();
