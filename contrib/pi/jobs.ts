/** Runs commands as jobs of a scope that ends with this process, and reports the ends of those in the background. */
import os from "node:os";
import { type Client, type Job, type JobRecord, connect } from "troupe-client";

export type { JobRecord };

/** A command and how it is run. Times are in seconds. */
export interface Command {
  command: string;
  cwd: string;
  env?: Record<string, string | undefined>;
  timeout?: number;
  /** Whether it begins in the background. */
  background?: boolean;
  /** How long it may take in the foreground; then it continues in the background. */
  promoteAfter?: number;
  onData: (data: Buffer) => void;
  signal?: AbortSignal;
}

const restTime = 10_000; // ms for the output that is still to be read at the end

export class Jobs {
  private readonly closed = new AbortController();
  private held: Promise<Client> | undefined;
  readonly scope: string;
  private readonly onEnd: (job: JobRecord) => void;

  /** onEnd is called once for each background job. */
  constructor(scope: string, onEnd: (job: JobRecord) => void) {
    this.scope = scope;
    this.onEnd = onEnd;
  }

  /** Runs a command. It returns the record of its job at the end, or when it is in the background. */
  async run(c: Command): Promise<{ job: JobRecord; background: boolean }> {
    const client = await this.client();
    const job = await client.spawn(c.command, {
      signal: c.signal,
      cwd: c.cwd,
      shell: "bash",
      scope: this.scope,
      environment: { policy: "caller", base: Object.entries(c.env ?? process.env).flatMap(([k, v]) => (v === undefined ? [] : [`${k}=${v}`])) },
      ...(c.timeout !== undefined && { timeout_ms: Math.ceil(c.timeout * 1000) }),
    });
    const end = job.wait();
    const stop = () => void job.stop().catch(() => {});
    c.signal?.addEventListener("abort", stop, { once: true });
    if (c.signal?.aborted) {
      stop();
    }
    try {
      const ended = c.background ? undefined : await this.foreground(job, end, c);
      if (!ended) {
        end.then((job) => this.closed.signal.aborted || this.onEnd(job)).catch(() => {}); // troupe ps -a has what cannot be learned here
      }
      return { job: ended ?? job.was, background: !ended };
    } finally {
      c.signal?.removeEventListener("abort", stop);
    }
  }

  /** Ends the scope: its jobs stop. */
  close(): void {
    this.closed.abort();
  }

  /** Passes on the output of a job until its end, or until it has had its time. */
  private async foreground(job: Job, end: Promise<JobRecord>, { onData, promoteAfter }: Command): Promise<JobRecord | undefined> {
    const reading = new AbortController();
    const output = job.follow({ signal: reading.signal });
    let size = Infinity;
    let told = 0;
    const tell = () => {
      for (const { from, to } of output.gaps.slice(told)) {
        onData(Buffer.from(`\n[troupe] ${to - from} bytes of the output were not kept\n`));
      }
      told = output.gaps.length;
    };
    const read = (async () => {
      for await (const data of output) {
        tell();
        onData(data);
        if (output.offset >= size) {
          return; // others may still have the output open
        }
      }
      tell();
    })();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = promoteAfter === undefined ? undefined : setTimeout(resolve, promoteAfter * 1000);
    });
    read.catch(() => {}); // awaited below
    const ended = await Promise.race([end, late]);
    clearTimeout(timer);
    size = ended?.output.merged?.bytes ?? 0;
    if (output.offset >= size) {
      reading.abort();
      tell();
      return ended;
    }
    const guard = setTimeout(() => reading.abort(), restTime);
    await read.catch(() => onData(Buffer.from(`[troupe] the rest of the output is in troupe logs ${job.id}\n`)));
    clearTimeout(guard);
    return ended;
  }

  /** Connects and holds the scope, from the first command on. */
  private client(): Promise<Client> {
    this.held ??= this.hold().catch((error) => {
      this.held = undefined; // the next command tries again
      throw error;
    });
    return this.held;
  }

  private async hold(): Promise<Client> {
    const client = await connect({ program: process.env.TROUPE_PROGRAM || "troupe" });
    await client.lease(this.scope, { signal: this.closed.signal });
    return client;
  }
}

/** Says how a job has ended, in a few words. */
export function endOf(job: JobRecord): string {
  switch (job.outcome) {
    case "exited":
      return `exited ${job.exit_code}`;
    case "signaled":
      return `killed by ${job.signal}`;
    case "timed_out":
      return "timed out";
    case "failed_to_start":
      return `not started: ${job.error?.message}`;
  }
  return [job.outcome, job.cause?.reason].filter(Boolean).join(", ");
}

/** Returns the exit status of a job as a shell has it, or undefined without one. */
export function statusOf(job: JobRecord): number | undefined {
  switch (job.outcome) {
    case "exited":
      return job.exit_code ?? 1;
    case "signaled":
      return 128 + (os.constants.signals[`SIG${job.signal}` as NodeJS.Signals] ?? 0);
  }
  return undefined;
}
