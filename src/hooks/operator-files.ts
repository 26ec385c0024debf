// The operator's private files: read whole, in UTF-8, never over the limit; and the folder that holds the state.
import { decodeUtf8 } from "../base/bytes.ts";
import { Failure } from "../base/failure.ts";
import { checkPrivateFolder, readPrivateFile } from "../base/private-files.ts";
import type { HooksCode, OperatorFileCode } from "./codes.ts";
import { hookLimits } from "./limits.ts";

/** The text of a private file. A missing file and bytes that are no UTF-8 have no code of their own. */
export function readPrivateText(path: string): string {
  let bytes: Uint8Array;
  try {
    bytes = readPrivateFile(path, { maxBytes: hookLimits.maxInputBytes });
  } catch (error) {
    if (error instanceof Failure && error.code === "private_file_too_large") {
      throw new Failure<HooksCode>("input_too_large", { cause: error });
    }
    throw error;
  }
  const text = decodeUtf8(bytes);
  if (text === null) throw new Failure<OperatorFileCode>("operator_file_not_text");
  return text;
}

/** The complete value of the Authorization header, read anew for each request. */
export function readAuthorization(path: string): string {
  // Python's idea of blank, so that both programs send the same bytes.
  const value = readPrivateText(path).replace(/^[\s\x1c-\x1f\x85]+|[\s\x1c-\x1f\x85]+$/g, "");
  // Anything outside printable Latin-1 would be cut, folded or refused on the way.
  if (value === "" || !/^[\t\x20-\x7e\xa0-\xff]+$/.test(value)) {
    throw new Failure<HooksCode>("invalid_authorization_file");
  }
  return value;
}

/** Refuses a state folder that is a link, is shared, or belongs to somebody else. Never creates one. */
export function requireStateFolder(path: string): void {
  try {
    checkPrivateFolder(path);
  } catch (error) {
    if (error instanceof Failure && error.code === "private_folder_required") {
      throw new Failure<HooksCode>("private_state_directory_required", { cause: error });
    }
    throw error;
  }
}
