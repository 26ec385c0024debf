// Text of others, made safe to show a person: no control characters, no characters that reorder, hide or fake
// what is around them, never longer than asked for.

// Control, format (bidi marks, joiners, tags), surrogate, private use, unassigned, line and paragraph separators;
// then blanks that are drawn as nothing and variation selectors.
const unseen =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|\u034f|[\u115f\u1160]|[\u17b4\u17b5]|[\u180b-\u180f]|[\u3164\uffa0]|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/gu;

/** `text` without invisible characters and with at most `maxChars` code points. */
export function visible(text: string, maxChars = 200): string {
  // Cut first, at what could at most be needed twice over, so that a huge input costs no more than a small one.
  const bounded = text.length > maxChars * 16 ? text.slice(0, maxChars * 16) : text;
  const clean = bounded.replace(unseen, "");
  if (clean.length <= maxChars) return clean;
  const points = Array.from(clean);
  return points.length <= maxChars ? clean : points.slice(0, maxChars).join("");
}
