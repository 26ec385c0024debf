// Work done a few at a time: as many as processors can carry, each next one when one has ended.
import { calibrateLimits } from "./limits.ts";

/** Results in the order of the jobs. */
export async function sideBySide<Job, Result>(
  jobs: readonly Job[],
  work: (job: Job) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const hand = async (): Promise<void> => {
    for (let at = next++; at < jobs.length; at = next++) results[at] = await work(jobs[at] as Job);
  };
  await Promise.all(Array.from({ length: calibrateLimits.sideBySide }, hand));
  return results;
}
