// Child environments are built from a list of names, never by copying what we were given.

/** What a process was given; values are read, never written. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The named variables that are present. Names of runtime switches are the caller's not to ask for. */
export function pickEnvironment(source: Environment, names: readonly string[]): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = source[name];
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}
