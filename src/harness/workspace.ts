// The run's own folders, all below the output folder, and the environment its children get: built from names, never inherited.
import { mkdirSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Environment, pickEnvironment } from "../base/environment.ts";
import { Failure, systemCodeOf } from "../base/failure.ts";
import { createPrivateFile, createPrivateFolder } from "../base/private-files.ts";
import type { HarnessCode } from "./codes.ts";

export interface Workspace {
  readonly root: string;
  readonly private: string;
  readonly project: string;
  readonly registry: string;
  readonly data: string;
  readonly home: string;
  readonly codexHome: string;
  readonly temp: string;
  readonly audit: string;
}

/** Names the seed passes to the managed agent when they are there. */
export const mappedNames = [
  "HOME",
  "PATH",
  "CODEX_HOME",
  "CODEX_PATH",
  "USER",
  "SHELL",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "ALL_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "all_proxy",
  "no_proxy",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
] as const;

/** Makes the output folder, 0700; what is there already, a link included, is refused untouched. */
export function createOutputFolder(path: string): string {
  let parent: string;
  try {
    parent = realpathSync(dirname(path));
  } catch {
    throw new Failure<HarnessCode>("output_folder_parent_missing");
  }
  const folder = join(parent, basename(path));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    throw new Failure<HarnessCode>(
      systemCodeOf(error) === "EEXIST" ? "output_folder_exists" : "output_folder_unwritable",
      { cause: error },
    );
  }
  return folder;
}

/** The folders of a run below its output folder. */
export function createWorkspace(root: string): Workspace {
  const inside = (name: string) => join(root, name);
  const space: Workspace = {
    root,
    private: inside("private"),
    project: inside("project"),
    registry: inside("projects"),
    data: inside("data"),
    home: inside("private/home"),
    codexHome: inside("private/codex-home"),
    temp: inside("private/tmp"),
    audit: inside("private/acp-metadata.jsonl"),
  };
  createPrivateFolder(space.private);
  for (const folder of [space.home, space.codexHome, space.temp]) createPrivateFolder(folder);
  // Evidence may be kept in a repository; credentials and the server's own data beside it may not.
  const unkept = ["private", "data", "state", "config", "xdg-data"].map((name) => `/${name}/\n`);
  createPrivateFile(inside(".gitignore"), unkept.join(""));
  return space;
}

/** What every child of the run sees. With an account the seed's names come through; else HOME is the run's own. */
export function childEnvironment(host: Environment, space: Workspace, account: boolean): Record<string, string> {
  const own = { HOME: space.home, CODEX_HOME: space.codexHome, USER: "proctor", SHELL: "/bin/sh" };
  const passed = account ? pickEnvironment(host, mappedNames) : { ...pickEnvironment(host, ["PATH"]), ...own };
  return {
    ...passed,
    TMPDIR: space.temp,
    LANG: "C.UTF-8",
    XDG_CONFIG_HOME: join(space.root, "config"),
    XDG_DATA_HOME: join(space.root, "xdg-data"),
    XDG_STATE_HOME: join(space.root, "state"),
    RUST_LOG: "warn",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_NOSYSTEM: "1",
  };
}
