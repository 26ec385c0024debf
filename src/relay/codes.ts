// What the relay says when it is itself at fault, on stderr and with exit status 125.

export const relayCodes = {
  relay_frame_limit: "A frame was longer than 2 MiB, so the adapter was ended.",
  relay_audit_unwritable: "The audit file could not be opened privately or written.",
  relay_audit_full: "The audit file had no room left for a single run when the relay started.",
  relay_program_not_started: "The adapter's program could not be started.",
} as const;

export type RelayCode = keyof typeof relayCodes;
