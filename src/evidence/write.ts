// Writes a rendered page or document as a private file, replacing an earlier one whole.
import { Failure } from "../base/failure.ts";
import { replacePrivateFile } from "../base/private-files.ts";
import type { EvidenceCode } from "./codes.ts";

export function writeEvidence(path: string, text: string): void {
  try {
    replacePrivateFile(path, new TextEncoder().encode(text));
  } catch (error) {
    throw new Failure<EvidenceCode>("evidence_unwritable", { cause: error });
  }
}
