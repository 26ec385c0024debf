// Writes a rendered page or document as a private file, replacing an earlier one whole. Refuses to take the place of
// anything that is no plain file: a link, a pipe or a device there is somebody else's.
import { lstatSync } from "node:fs";
import { Failure } from "../base/failure.ts";
import { replacePrivateFile } from "../base/private-files.ts";
import type { EvidenceCode } from "./codes.ts";

export function writeEvidence(path: string, text: string): void {
  try {
    const there = lstatSync(path, { throwIfNoEntry: false });
    if (there !== undefined && !there.isFile()) throw new Failure<EvidenceCode>("evidence_unwritable");
    replacePrivateFile(path, new TextEncoder().encode(text), { reserved: ".proctor-" });
  } catch (error) {
    throw new Failure<EvidenceCode>("evidence_unwritable", { cause: error });
  }
}
