// The four rights of a client. Sets only ever get smaller; a word that is no right is refused, not skipped.
export const permissions = ["observe", "interact", "approve", "terminate"] as const;
export type Permission = (typeof permissions)[number];
export type Rights = ReadonlySet<Permission>;

export const presets = {
  interactive: ["observe", "interact", "approve"],
  observer: ["observe"],
} as const satisfies Record<string, readonly Permission[]>;
export type Preset = keyof typeof presets;

/** Rights of the operator itself; no preset holds them all. */
export const ownerRights: Rights = new Set(permissions);

export function rightsOf(preset: Preset): Rights {
  return new Set<Permission>(presets[preset]);
}

/** The rights a narrowing header names, or null when it cannot be read. */
export function parseNarrowing(value: string): Rights | null {
  const named = new Set<Permission>();
  for (const word of value.split(",")) {
    const right = permissions.find((known) => known === word.replace(/^[ \t]+|[ \t]+$/g, ""));
    if (right === undefined) return null;
    named.add(right);
  }
  return named;
}

/** What both sets hold. */
export function narrow(held: Rights, named: Rights): Rights {
  return new Set([...held].filter((right) => named.has(right)));
}
