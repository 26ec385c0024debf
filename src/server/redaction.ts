// Text that leaves a Session in a summary: bounded, free of control characters, and without what looks like a secret.

const secretLike: readonly RegExp[] = [
  /\b(?:wc_(?:pat|agent|acct|oat)_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9_-]{12,}|gh[pousr]_[A-Za-z0-9]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16})\b/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*/g,
  /\b(?:bearer|basic)\s+[A-Za-z0-9+/._~=-]{12,}/gi,
  /\b[A-Za-z0-9_-]*(?:password|passwd|secret|token|api[_-]?key|private[_-]?key|authorization)[A-Za-z0-9_-]*\s*[:=]\s*["']?[^\s"',;]{4,}["']?/gi,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
];

export interface Excerpt {
  readonly excerpt: string | null;
  readonly truncated: boolean;
}

/** The text with every secret-like part replaced. */
export function redact(text: string): string {
  let clean = text;
  for (const pattern of secretLike) clean = clean.replace(pattern, "[redacted]");
  return clean;
}

/** One line of at most `maxChars` characters; `truncated` says that something is missing or was replaced. */
export function excerptOf(text: string | null, maxChars: number): Excerpt {
  if (text === null) return { excerpt: null, truncated: false };
  const redacted = redact(text);
  const line = redacted.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
  const characters = [...line];
  const cut = characters.length > maxChars;
  return { excerpt: cut ? characters.slice(0, maxChars).join("") : line, truncated: cut || redacted !== text };
}

/** The longest prefix of at most `maxBytes` UTF-8 bytes. */
export function cutBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let kept = "";
  for (const character of text) {
    const size = Buffer.byteLength(character);
    if (bytes + size > maxBytes) return kept;
    bytes += size;
    kept += character;
  }
  return kept;
}
