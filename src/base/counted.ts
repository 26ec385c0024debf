// A number with its word, as a person writes it: "1 prompt", "0 prompts", "2 identities".

/** `one` is the word for a single thing; `many` only where an s does not do. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
