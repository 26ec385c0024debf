import { expect, test } from "bun:test";
import { countCategories, DiagnosticCounter, diagnosticNeedles } from "../../src/base/diagnostics.ts";

for (const [category, needle] of Object.entries(diagnosticNeedles)) {
  test(`countCategories() finds ${category} in any letter case (H050, R019)`, () => {
    expect(countCategories(`x ${needle} y\n`)).toMatchObject({ [category]: 1 });
    expect(countCategories(`x ${needle.toUpperCase()} y`)).toMatchObject({ [category]: 1 });
    expect(countCategories(`x ${needle.slice(1)} y`)[category as keyof typeof diagnosticNeedles]).toBeUndefined();
  });
}

test("DiagnosticCounter counts a category at most once a piece, and pieces of 8192 bytes (H051)", () => {
  expect(countCategories("401 401 401\n401\n")).toEqual({ http_401: 2 });
  expect(countCategories(`401${"x".repeat(8_189)}401`)).toEqual({ http_401: 2 });
  expect(countCategories(`401${"x".repeat(8_186)}401`)).toEqual({ http_401: 1 });
});

test("DiagnosticCounter finds a needle at every split point, with broken UTF-8 around it (H051)", () => {
  const bytes = Buffer.concat([Buffer.from([0xff, 0xc3]), Buffer.from(" Invalid_Grant "), Buffer.from([0xe2, 0x0a])]);
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const counter = new DiagnosticCounter();
    counter.push(bytes.subarray(0, cut));
    counter.push(bytes.subarray(cut));
    expect(counter.counts()).toEqual({ invalid_grant: 1 });
    expect(counter.bytesSeen).toBe(bytes.length);
  }
});

test("DiagnosticCounter tells a category when it is first met, and not again (R020)", () => {
  const counter = new DiagnosticCounter();
  expect(counter.push(Buffer.from("error 401\n"))).toEqual(["http_401"]);
  expect(counter.push(Buffer.from("error 401 unauthorized\n"))).toEqual(["unauthorized"]);
  expect(counter.counts()).toEqual({ http_401: 2, unauthorized: 1 });
});
