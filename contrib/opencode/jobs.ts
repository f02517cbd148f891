/** Runs commands as jobs of a scope that ends with this process, and reports the ends of those in the background. */
import { Daemon, type Job, type JobEvent, pause, refusal, ulid } from "./daemon.ts";
import { frames } from "./frames.ts";

export { Daemon, type Job };

/** A command and how it is run. Times are in seconds. */
export interface Command<Owner> {
  command: string;
  cwd: string;
  env?: Record<string, string | undefined>;
  timeout?: number;
  /** Whether it begins in the background. */
  background?: boolean;
  /** How long it may take in the foreground; then it continues in the background. */
  promoteAfter?: number;
  onData?: (data: Buffer) => void;
  signal?: AbortSignal;
  /** Given back with the end of a background job. */
  owner: Owner;
}

const startPauseMs = 20; // between two looks for a job that is not there yet

export class Jobs<Owner> {
  private readonly closed = new AbortController();
  private readonly owners = new Map<string, Owner>(); // of background jobs whose end is reported, by uid
  private readonly early = new Map<string, Job>(); // ends that arrived before the run was answered
  private ready: Promise<void> | undefined;
  private readonly daemon: Daemon;
  readonly scope: string;
  private readonly onEnd: (job: Job, owner: Owner) => void;

  /** onEnd is called once for each background job. */
  constructor(daemon: Daemon, scope: string, onEnd: (job: Job, owner: Owner) => void) {
    this.daemon = daemon;
    this.scope = scope;
    this.onEnd = onEnd;
  }

  /** Runs a command. It returns the record of the job, which has ended or is in the background. */
  async run(c: Command<Owner>): Promise<Job> {
    await this.begin();
    const uid = ulid();
    const body: Record<string, unknown> = {
      uid,
      command: c.command,
      cwd: c.cwd,
      shell: "bash",
      scope: this.scope,
      environment: { policy: "caller", base: Object.entries(c.env ?? process.env).flatMap(([k, v]) => (v === undefined ? [] : [`${k}=${v}`])) },
    };
    if (c.timeout !== undefined) {
      body.timeout_ms = Math.ceil(c.timeout * 1000);
    }
    if (c.background) {
      body.mode = "async";
    } else if (c.promoteAfter !== undefined) {
      body.promote_after_ms = Math.ceil(c.promoteAfter * 1000);
    }
    const output = new Output(this.daemon, uid, c.onData);
    if (c.signal?.aborted) {
      throw c.signal.reason;
    }
    let settled = false;
    const stop = async () => { // the job may not be there yet
      while (!settled && !(await this.stop(uid).then(() => true, () => false))) {
        await pause(startPauseMs);
      }
    };
    c.signal?.addEventListener("abort", stop, { once: true });
    try {
      const job = await this.daemon.insist(() => {
        const sent = this.daemon.ask<Job>({ method: "POST", path: "/v1/jobs", body });
        if (!c.background) {
          output.follow();
        }
        return sent;
      }, c.signal);
      await output.finish(job);
      if (job.state !== "finished") {
        this.inBackground(job, c.owner);
      }
      return job;
    } finally {
      settled = true;
      c.signal?.removeEventListener("abort", stop);
      output.close();
    }
  }

  /** Stops a job and everything that it started. */
  stop(uid: string): Promise<unknown> {
    return this.daemon.insist(() => this.daemon.ask({ method: "POST", path: `/v1/jobs/${uid}/stop`, body: {} }));
  }

  /** Ends the scope: its jobs stop. */
  close(): void {
    this.closed.abort();
  }

  /** Holds the scope and watches its ends, from the first command on. */
  private begin(): Promise<void> {
    this.ready ??= this.daemon
      .lease(this.scope, this.closed.signal)
      .then(() => this.watch())
      .catch((error) => {
        this.ready = undefined; // the next command tries again
        throw error;
      });
    return this.ready;
  }

  /** Resolves when no end can be missed any more. */
  private watch(): Promise<void> {
    return new Promise((resolve, reject) => {
      const run = async () => {
        for await (const event of this.daemon.ends(this.scope, this.closed.signal, resolve)) {
          this.arrived(event);
        }
      };
      run().catch((error) => {
        this.ready = undefined;
        reject(error);
      });
    });
  }

  private arrived({ event, job }: JobEvent): void {
    if (event !== "command_finished" || !job) {
      return;
    }
    const owner = this.owners.get(job.uid);
    if (this.owners.delete(job.uid)) {
      this.onEnd(job, owner as Owner);
    } else if (job.background) {
      this.early.set(job.uid, job);
    }
  }

  private inBackground(job: Job, owner: Owner): void {
    const end = this.early.get(job.uid);
    if (end) {
      this.early.delete(job.uid);
      this.onEnd(end, owner);
    } else {
      this.owners.set(job.uid, owner);
    }
  }
}

/** Says how a job has ended, in a few words. */
export function endOf(job: Job): string {
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

/**
 * Output passes on the output of a job, each byte once, also over the death of the daemon. It says in
 * its place how much of it was not kept.
 */
class Output {
  private at = 0; // of the next byte
  private following: AbortController | undefined;
  private followed: Promise<void> = Promise.resolve();
  private readonly daemon: Daemon;
  private readonly uid: string;
  private readonly onData: ((data: Buffer) => void) | undefined;

  constructor(daemon: Daemon, uid: string, onData: ((data: Buffer) => void) | undefined) {
    this.daemon = daemon;
    this.uid = uid;
    this.onData = onData;
  }

  /** Follows the output; a second call follows from where the first one broke. */
  follow(): void {
    if (!this.onData) {
      return;
    }
    this.following?.abort();
    const { signal } = (this.following = new AbortController());
    this.followed = this.followed.then(() => this.read(true, signal)).then(() => {}, () => {}); // finish reads the rest
  }

  /** Ends following, and reads the rest of the output of a finished job. */
  async finish(job: Job): Promise<void> {
    this.close();
    await this.followed;
    if (job.state !== "finished" || !this.onData) {
      return;
    }
    const size = job.output.merged?.bytes ?? 0;
    const rest = async () => {
      if (this.at < size && (await this.read(false)) && this.at < size) {
        throw Object.assign(new Error("the output was cut off"), { code: "ECONNRESET" });
      }
    };
    await this.daemon.insist(rest, undefined, true);
    this.skip(size); // what the daemon has removed
    if (job.output.merged?.bytes === null) {
      this.onData(Buffer.from("\n[troupe] the output, or a part of it, was lost\n"));
    }
  }

  close(): void {
    this.following?.abort();
  }

  /** Reads from the next byte on, and returns whether the daemon has the output. */
  private async read(follow: boolean, signal?: AbortSignal): Promise<boolean> {
    for (;;) {
      const path = `/v1/jobs/${this.uid}/output?times=true&offset=${this.at}${follow ? "&follow=true" : ""}`; // with times it comes in frames
      const reply = await this.daemon.open({ method: "GET", path, headers: { Prefer: "resumable" }, signal });
      if (reply.statusCode === 200) {
        for await (const { data, skipTo } of frames(reply)) {
          this.skip(skipTo);
          this.at += data.length;
          if (data.length > 0) {
            this.onData?.(data);
          }
        }
        return true;
      }
      const error = await refusal(reply);
      if (!follow && ["output_unavailable", "not_found"].includes(error.code)) {
        return false;
      }
      if (!follow || signal?.aborted) {
        throw error;
      }
      await pause(startPauseMs, signal); // the job is not there yet
    }
  }

  /** Says that what is before a byte is missing. */
  private skip(to: number): void {
    if (to > this.at) {
      this.onData?.(Buffer.from(`\n[troupe] ${to - this.at} bytes of the output were not kept\n`));
      this.at = to;
    }
  }
}
