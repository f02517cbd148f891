import { type Attachment, type AttachOptions, attach } from "./attach.js";
import { TroupeError } from "./errors.js";
import { Output, type OutputOptions, whole } from "./output.js";
import { ends, type WaitOptions } from "./wait.js";
import type { Transport } from "./transport.js";
import type { Abortable, JobRecord, Schemas } from "./types.js";

const maxInput = 256 << 10; // bytes of one request of input

/** The bytes that output() and run() return at most, unless max_bytes is given. */
export const maxBytes = 16 << 20;

/** Job is a job of the daemon. */
export class Job {
  readonly #transport: Transport;

  /** @internal */
  constructor(
    transport: Transport,
    /** What was known of the job when it was started or found. */
    readonly was: JobRecord,
  ) {
    this.#transport = transport;
  }

  /** The short id, such as j7. */
  get id(): string {
    return this.was.id;
  }

  /** The ULID, which names the job as long as its record is kept. */
  get uid(): string {
    return this.was.uid;
  }

  get #path(): string {
    return `/v1/jobs/${encodeURIComponent(this.uid)}`;
  }

  #post<T>(verb: string, body: object, repeats: boolean, { signal }: Abortable): Promise<T> {
    return this.#transport.short<T>({ method: "POST", path: `${this.#path}/${verb}`, body, repeats }, signal);
  }

  /** Returns what is known of the job now. */
  record({ signal }: Abortable = {}): Promise<JobRecord> {
    return this.#transport.short({ method: "GET", path: this.#path, repeats: true }, signal);
  }

  /** Waits for the end of the job, and returns its record. */
  async wait(options: Abortable = {}): Promise<JobRecord> {
    const { jobs } = await ends(this.#transport, { ...options, jobs: [this.uid] });
    return jobs[0] ?? this.record(options);
  }

  /** Waits for a condition, such as `{ kind: "pattern", pattern: "listening" }`. */
  until(condition: Schemas["Condition"], options: Omit<WaitOptions, "jobs" | "any" | "condition"> = {}): Promise<Schemas["WaitEnded"]> {
    return ends(this.#transport, { ...options, jobs: [this.uid], condition });
  }

  /** Returns the bytes that the job has written by now. A part that was not kept is an error that has the rest, and so are more than `max_bytes` (16 MiB). */
  output({ max_bytes = maxBytes, ...options }: OutputOptions & { max_bytes?: number } = {}): Promise<Buffer> {
    return whole(this.#read(false, options), max_bytes);
  }

  /** Reads what the job has written and will write, until no process can write any more. */
  follow(options: OutputOptions = {}): Output {
    return this.#read(true, options);
  }

  #read(follow: boolean, options: OutputOptions): Output {
    const stream = options.stream ?? ("stdout" in this.was.output ? "stdout" : "merged");
    return new Output(this.#transport, this.#path, stream, follow, options);
  }

  /** Writes to the standard input. It returns when the kernel has all of it. */
  async write(data: string | Uint8Array, { signal }: Abortable = {}): Promise<void> {
    const bytes = Buffer.from(data as Uint8Array);
    for (let from = 0; from < bytes.length; from += maxInput) {
      const body = { data_base64: bytes.subarray(from, from + maxInput).toString("base64") };
      await this.#transport.input({ method: "POST", path: `${this.#path}/input`, body }, signal);
    }
  }

  /** Types keys on the terminal, such as `make{enter}` or `{ctrl+c}`. */
  async type(keys: string, { signal }: Abortable = {}): Promise<void> {
    await this.#transport.input({ method: "POST", path: `${this.#path}/input`, body: { keys } }, signal);
  }

  /** Ends the standard input. A job that has finished is no error. */
  async closeInput(options: Abortable = {}): Promise<void> {
    try {
      await this.#post("close-input", {}, true, options);
    } catch (error) {
      if (!TroupeError.is(error, "job_finished")) {
        throw error;
      }
    }
  }

  /** Stops all processes of the job: TERM, and KILL after the grace. It returns when none is left but the survivors. */
  stop({ signal, ...how }: Abortable & Pick<Schemas["StopCommand"], "grace_ms" | "reason"> = {}): Promise<Schemas["CommandStopped"]> {
    return this.#post("stop", how, true, { signal });
  }

  /** Sends a signal such as `INT` to the main process, or to all processes. */
  async signal(name: string, { tree = false, ...options }: Abortable & { tree?: boolean } = {}): Promise<void> {
    await this.#post("signal", { signal: name, tree }, false, options);
  }

  /** Moves the job to the background: a run() that waits for it returns. */
  promote({ keep = true, ...options }: Abortable & { keep?: boolean } = {}): Promise<JobRecord> {
    return this.#post("promote", { keep }, true, options);
  }

  /** Connects to the terminal or the pipes of the job. */
  attach(options: AttachOptions = {}): Promise<Attachment> {
    const stream = options.stream ?? ("stdout" in this.was.output ? "stdout" : "merged");
    return attach(this.#transport, this.#path, { ...options, stream });
  }
}
