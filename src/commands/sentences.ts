// The one sentence of each code, looked up room by room only when something failed.
type Codes = Readonly<Record<string, string>>;

const rooms: ReadonlyArray<() => Promise<Codes>> = [
  async () => (await import("../server/codes.ts")).serverCodes,
  async () => (await import("./codes.ts")).commandCodes,
  async () => (await import("../gateway/codes.ts")).gatewayCodes,
  async () => (await import("../standins/codes.ts")).standinCodes,
  async () => (await import("../relay/codes.ts")).relayCodes,
  async () => (await import("../runner/codes.ts")).runnerCodes,
  async () => (await import("../runner/codes.ts")).runCodes,
  async () => (await import("../evidence/codes.ts")).evidenceCodes,
  async () => (await import("../calibrate/codes.ts")).calibrateCodes,
  async () => (await import("../hooks/codes.ts")).hooksCodes,
  async () => (await import("../hooks/codes.ts")).operatorFileCodes,
  async () => (await import("../harness/codes.ts")).harnessCodes,
  async () => (await import("../judge/codes.ts")).judgeCodes,
  async () => (await import("../base/codes.ts")).baseCodes,
];

/** The sentence for `code`; an unknown code gets the honest general one. */
export async function sentenceOf(code: string): Promise<string> {
  for (const load of rooms) {
    const codes = await load();
    if (Object.hasOwn(codes, code)) return codes[code]!;
  }
  return "The work was refused.";
}
