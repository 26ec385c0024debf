// All findings of `proctor doctor` but the clean-up: programs, machine, hooks. Takes under ten seconds and leaves
// nothing but files in the folder it was given.
import type { DoctorHost, Finding } from "./doctor-finding.ts";
import { hookFinding } from "./doctor-hooks.ts";
import { hostFindings } from "./doctor-host.ts";
import { programFindings } from "./doctor-programs.ts";

export async function findings(host: DoctorHost): Promise<Finding[]> {
  return [...(await programFindings(host)), ...hostFindings(host), await hookFinding(host)];
}
