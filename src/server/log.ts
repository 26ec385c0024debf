// Structured lines about what happened, without bodies, tokens or names a caller chose. Rooms never print: the
// command hands in the sink.

export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

export interface ServerLog {
  note(event: string, fields?: LogFields): void;
}

/** A log that drops everything. */
export const silentLog: ServerLog = { note() {} };

/** A log that hands one JSON line per event to the sink. */
export function lineLog(sink: (line: string) => void, wallMs: () => number): ServerLog {
  return {
    note(event, fields = {}) {
      sink(JSON.stringify({ at: new Date(wallMs()).toISOString(), event, ...fields }));
    },
  };
}
