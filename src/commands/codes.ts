// Refusals of the front door's own commands.
export const commandCodes = {
  self_not_listed: "This executable is not in the list: download it again, and compare the list's own signature.",
  self_sums_invalid: "The list is not in the form `<sha256>  <name>`, one file a line.",
  output_unwritable: "The result could not be written to standard output: look at the room on its disk.",
} as const;
