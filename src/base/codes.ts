// Refusals of the primitives, as the operator reads them when no room gave them a word of its own.
export const baseCodes = {
  private_file_missing: "A named file does not exist: check its path.",
  private_regular_file_required:
    "A named file is no plain file of yours with mode 0600: own it and `chmod 600` it; links are not followed.",
  regular_file_required: "A named file cannot be read, or is no plain file: links, folders and devices are not taken.",
  private_file_too_large: "A named file is longer than it may be: see docs/limits.md for its bound.",
  private_folder_required: "A named folder is not yours alone: own it and `chmod 700` it; links are not followed.",
  private_file_exists: "The file or folder exists already: name a new one, nothing is written over.",
  private_file_unwritable: "A private file could not be written: look at the folder's owner, mode and free room.",
  file_lock_unavailable: "There are no file locks in this place: keep state on a local disk.",
  invalid_lock: "What lies where the lock file belongs is no plain private file: move it away.",
  home_folder_missing: "HOME names no absolute folder: set it, or set XDG_STATE_HOME.",
  program_not_started: "A program could not be started: check its path and that it may be executed.",
  group_not_separate: "A program could not be given a process group of its own, so it was not run.",
  line_too_long: "A line was longer than it may be and was refused before it was kept.",
  http_unreachable: "Nobody answers at the address: check that the server runs and the port is right.",
  http_timeout: "The server did not answer in time: try again, or look at `proctor server status`.",
  http_malformed: "The answer was not HTTP as expected: check that the address is the server's.",
  http_result_limit: "The answer was longer than it may be and was refused.",
  secret_not_text: "A secret is not text: write it again with `proctor server token create` or its own command.",
  secret_wiped: "A secret was used after it was wiped: start the command again.",
  windows_security_unavailable: "Windows did not tell who may open the file, so it was not used.",
} as const;
