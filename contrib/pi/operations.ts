/** The operations of pi's bash tool, run as jobs of the daemon. */
import type { BashOperations } from "@earendil-works/pi-coding-agent";
import { type JobRecord, type Jobs, endOf, statusOf } from "./jobs.ts";

/** How a command is run. Times are in seconds. */
export interface Terms {
  background?: boolean;
  promoteAfter?: number;
}

/** Returns operations for the bash tool of pi. */
export function operations(jobs: Jobs, terms: Terms = {}): BashOperations {
  return {
    async exec(command, cwd, { onData, signal, timeout, env }) {
      if (signal?.aborted) {
        throw new Error("aborted");
      }
      const { job, background } = await jobs.run({ command, cwd, env, timeout, signal, onData, ...terms }).catch((error) => {
        throw signal?.aborted ? new Error("aborted") : error;
      });
      if (!background) {
        return { exitCode: exitCode(job, timeout, signal) };
      }
      onData(Buffer.from(`[troupe] ${job.id} runs in the background. A message follows when it ends. troupe logs ${job.id} shows its output, troupe stop ${job.id} stops it.\n`));
      return { exitCode: 0 };
    },
  };
}

/** Returns the exit code of a job, or throws as pi's own operations do. */
function exitCode(job: JobRecord, timeout: number | undefined, signal?: AbortSignal): number {
  const status = statusOf(job);
  if (status !== undefined) {
    return status;
  }
  if (job.outcome === "timed_out") {
    throw new Error(`timeout:${timeout}`);
  }
  throw new Error(signal?.aborted ? "aborted" : `${job.id}: ${endOf(job)}`);
}
