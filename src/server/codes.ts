// Every way the server refuses to start, to keep running or to answer, with the sentence the operator reads.

export const serverCodes = {
  server_token_required: "WEBCODEX_TOKEN is not set; the server never runs without a token.",
  server_token_weak: "WEBCODEX_TOKEN must be 16 to 512 visible characters.",
  server_address_invalid: "WEBCODEX_ADDR must be a loopback address and a port, like 127.0.0.1:8080.",
  server_address_in_use: "The address is already in use.",
  server_data_unusable: "The data folder is missing a parent, is no private folder of this user, or cannot be written.",
  server_data_network: "The data folder is on a network file system; choose a folder on a local disk.",
  server_data_locked: "Another server already uses this data folder.",
  server_control_unreachable: "No server of this data folder answers.",
  store_unreadable:
    "The database cannot be opened or is damaged; nothing was changed. Restore a backup made with `server backup`.",
  store_foreign: "The database file belongs to another program; nothing was changed.",
  store_newer: "The database was written by a newer version of this program; nothing was changed.",
  store_unavailable: "The database took no write; nothing was stored.",
  store_uncertain: "The database failed while storing; whether it was stored is not known.",
  backup_exists: "The backup file already exists; nothing was overwritten.",
  backup_failed: "The backup could not be written.",
  runner_replaced_uncertain:
    "Another runner took the name of the one that held this run; whether the run went on is not known.",
  token_invalid: "The token cannot be made as asked: unknown user, scope or expiry.",
  token_unknown: "There is no such token.",
  shims_exist: "A launcher of that name already exists; nothing was overwritten.",
  shims_unwritable: "The launchers could not be written into that folder.",
} as const;

export type ServerCode = keyof typeof serverCodes;
