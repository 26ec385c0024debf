// Finds credentials in application messages by field name, never by text. Deep shapes are walked without recursion.
const names = new Set(["authorization", "bearer", "credential", "token"]);

// A key that names a credential stands in the text itself, unless it is written with escapes; other texts need no walk.
const mayName = /authorization|bearer|credential|token|\\u/iu;

/** True when a key at any depth of `value` names a credential; `text` is what it was read from. */
export function carriesCredential(value: unknown, text: string): boolean {
  if (!mayName.test(text)) return false;
  const left: unknown[] = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next !== "object" || next === null) continue;
    if (Array.isArray(next)) {
      for (const item of next) left.push(item);
      continue;
    }
    for (const [key, child] of Object.entries(next)) {
      if (names.has(key.toLowerCase())) return true;
      if (typeof child === "object" && child !== null) left.push(child);
    }
  }
  return false;
}
