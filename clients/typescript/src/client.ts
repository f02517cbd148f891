import { Absence } from "./absence.js";
import { type Attachment, type AttachOptions } from "./attach.js";
import { type Door, type Environment, PortDoor, SocketDoor } from "./door.js";
import { TroupeError, isCrowded, outputGap, unanswered } from "./errors.js";
import { Events, type EventsOptions } from "./events.js";
import { Job, maxBytes } from "./job.js";
import { Lease } from "./lease.js";
import { type Kept, Output, keptOf } from "./output.js";
import { type Method, type PathOf, type ReplyOf, type RequestOptions, exchangeOf } from "./request.js";
import { type CommandOptions, type Result, type RunOptions, type SpawnOptions, bodyOf, environmentOf } from "./run.js";
import { Session, type SessionOptions } from "./session.js";
import { link, unlessAborted } from "./signals.js";
import { Transport, portBounds, socketBounds } from "./transport.js";
import { ulid } from "./ulid.js";
import type { Abortable, Command, JobRecord, Schemas } from "./types.js";
import { ends, type WaitOptions } from "./wait.js";

/** Where the daemon is, and whether to start it. */
export interface ConnectOptions extends Abortable {
  /** The socket of the daemon. If it is left out, the environment and the configuration of troupe say where it is. */
  socket?: string;
  /** A loopback address in place of the socket, such as http://127.0.0.1:7420. It needs the `token`. */
  url?: string;
  /** The token of the `url`. */
  token?: string;
  /** Start the daemon if there is none; true. At a `url` none is started. */
  start?: boolean;
  /** The program that starts it; `troupe`, in the PATH. */
  program?: string;
  /** The environment that says where the daemon is, and that one is started with; that of this process. */
  env?: Environment;
}

const defaultGrace = 5_000; // ms
const stopPatience = 30_000; // ms for a stop, beyond the grace
const answerPatience = 30_000; // ms for the first answer of a daemon: one that starts may have jobs to restore, a stopped one answers never
const lossTime = 2_000; // ms in which a daemon sees that a connection has gone
const strayTime = 16_000; // ms in which the next daemon stops a job whose client has not returned: 15 s, and the time to see that

/** Finds the daemon of this user, and starts it if there is none. */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const { url, token, socket, start = true, program = "troupe", env = process.env } = options;
  const door = url === undefined ? new SocketDoor({ socket, start, program, env }) : new PortDoor(url);
  const transport = new Transport(door, token, url === undefined ? socketBounds : portBounds);
  const patience = new AbortController();
  const unlink = link(options.signal, patience);
  const late = setTimeout(() => patience.abort(unanswered(door.name, answerPatience)), answerPatience);
  try {
    await find(door, start, patience.signal);
    const about = await transport.short<Schemas["About"]>({ method: "GET", path: "/v1/version", repeats: true }, patience.signal);
    return new Client(transport, about.version);
  } finally {
    clearTimeout(late);
    unlink();
  }
}

/** Finds the daemon. While its queue of connections is full it tries again. */
async function find(door: Door, start: boolean, signal: AbortSignal): Promise<void> {
  for (const away = new Absence(); ; ) {
    try {
      return await unlessAborted(door.find(start), signal);
    } catch (error) {
      if (!isCrowded(error)) {
        throw error;
      }
      await away.next(error, signal);
    }
  }
}

/**
 * Client sends requests to the daemon, and to the daemon after it: when one has ended, each call that can be repeated goes
 * on with the next, for 15 s, and a run keeps its job.
 */
export class Client {
  readonly #transport: Transport;

  /** @internal */
  constructor(
    transport: Transport,
    /** The version of the daemon at the time of connect(). */
    readonly version: string,
  ) {
    this.#transport = transport;
  }

  /**
   * Runs a command and waits for its end, or until it goes to the background (`background` of the result). It does not
   * throw for a command that fails or cannot start. If the signal is aborted, run() stops the job and all its processes,
   * and rejects when they have ended. A job with a `key` goes on if another client waits for it.
   */
  async run(command: Command, options: RunOptions = {}): Promise<Result> {
    const record = await this.#submit(command, options, undefined);
    const { signal, max_bytes = maxBytes } = options;
    const read = async (stream: "merged" | "stdout" | "stderr"): Promise<Kept> =>
      record.output[stream]?.bytes === 0 || !record.output[stream]
        ? { bytes: Buffer.alloc(0), gaps: [] }
        : keptOf(new Output(this.#transport, `/v1/jobs/${record.uid}`, stream, false, { signal }), max_bytes);
    try {
      const { bytes, gaps } = await read("stdout" in record.output ? "stdout" : "merged");
      const stderr = await read("stderr");
      if (gaps.length + stderr.gaps.length > 0) {
        throw outputGap({ output: bytes, stderr: stderr.bytes, gaps: [...gaps, ...stderr.gaps] });
      }
      const ok = record.outcome === "exited" && record.exit_code === 0;
      return { ...record, ok, bytes, text: bytes.toString(), stderr: stderr.bytes };
    } catch (error) {
      throw withRecord(error, record);
    }
  }

  /** Starts a command in the background. It returns when the command has started, or waits in the queue of its session. */
  async spawn(command: Command, options: SpawnOptions = {}): Promise<Job> {
    const record = await this.#submit(command, options, options.mode ?? "async");
    if (record.outcome === "failed_to_start") {
      throw withRecord(new TroupeError(record.error ?? { code: "spawn_failed", message: "the command could not be started" }), record);
    }
    return new Job(this.#transport, record);
  }

  /**
   * Sends a run: a repeat after the end of a daemon joins the same job. While the daemon has no room for it, it waits here as
   * it would in the queue of the daemon: until the signal is aborted, or the timeout of the command has passed.
   */
  async #submit(command: Command, options: CommandOptions & RunOptions, mode: "async" | "detached" | undefined): Promise<JobRecord> {
    const { signal, key } = options;
    let started = options.started;
    let sent = false;
    const directory = options.session === undefined ? process.cwd() : undefined;
    const uid = ulid(); // of the job, unless the key is known and joins another
    const body = { ...bodyOf(command, options, mode, directory), uid };
    const away = new Absence(undefined, body.timeout_ms || Infinity);
    if (body.open) {
      const environment = environmentOf(body.open.environment, undefined);
      body.open = { ...body.open, ...(environment && { environment }) };
    }
    const x = {
      method: "POST",
      path: "/v1/jobs",
      body,
      headers: { "Idempotency-Key": key, Prefer: started && "processing" },
      repeats: true,
      sending: () => (sent = true),
      processing: ({ location }: Record<string, unknown>) => {
        if (typeof location === "string") {
          started?.(decodeURIComponent(location.slice(location.lastIndexOf("/") + 1)));
          started = undefined;
        }
      },
    };
    try {
      return await (mode ? this.#transport.short<JobRecord>(x, signal, away) : this.#transport.fixed<JobRecord>(x, signal, away));
    } catch (error) {
      if (signal?.aborted && sent && !(mode && key !== undefined)) { // a repeat with the key finds the job in the background
        const patience = AbortSignal.timeout((body.grace_ms ?? defaultGrace) + stopPatience);
        const ended = key === undefined ? this.#stopped(uid, patience) : this.#abandoned(uid, away.absent ? strayTime : lossTime, patience);
        await ended.catch(() => {}); // it may never have been a job; the caller gets the reason of its signal
      }
      throw error;
    }
  }

  /** Stops a job whose caller has given up. */
  async #stopped(uid: string, signal: AbortSignal): Promise<void> {
    await this.#transport.short({ method: "POST", path: `/v1/jobs/${uid}/stop`, body: {}, repeats: true }, signal);
  }

  /** Waits for the end of a job with a key, whose caller has given up. The daemon stops it within a time, unless another client waits for it. */
  async #abandoned(uid: string, time: number, signal: AbortSignal): Promise<void> {
    const { jobs } = await this.wait({ jobs: [uid], timeout_ms: time, signal });
    if (jobs[0]?.cause) {
      await this.#stopped(uid, signal); // it is being stopped
    }
  }

  /** Finds a job by its id, its ULID or its name. */
  async job(id: string, { signal }: Abortable = {}): Promise<Job> {
    return new Job(this.#transport, await this.#transport.short({ method: "GET", path: `/v1/jobs/${encodeURIComponent(id)}`, repeats: true }, signal));
  }

  /** Returns the records of the jobs at and below a scope, oldest first, finished ones included. */
  async jobs({ signal, ...query }: Abortable & { scope?: string; finished?: boolean; state?: JobRecord["state"] } = {}): Promise<JobRecord[]> {
    const { jobs } = await this.request("get", "/v1/jobs", { query: { finished: true, ...query }, signal });
    return jobs;
  }

  /** Returns a session, which its first command opens. */
  session(name: string, options: SessionOptions = {}): Session {
    return new Session(this, name, options);
  }

  /** Holds a scope: its jobs stop when this process ends, however it ends, or the signal is aborted. */
  async lease(scope: string, { signal }: Abortable = {}): Promise<Lease> {
    const lease = new Lease(this.#transport, scope);
    await lease.take(signal);
    return lease;
  }

  /** Waits until any or all of some jobs have ended or meet a condition. */
  wait(what: WaitOptions): Promise<Schemas["WaitEnded"]> {
    return ends(this.#transport, what);
  }

  /** Yields the events of all jobs, sessions and scopes, each once and in order. */
  events(options: EventsOptions = {}): Events {
    return new Events(this.#transport, options);
  }

  /** Connects to the terminal or the pipes of a job. */
  async attach(job: Job | string, options: AttachOptions = {}): Promise<Attachment> {
    return (typeof job === "string" ? await this.job(job, options) : job).attach(options);
  }

  /** Sends any other request of the API that is answered with an object. */
  request<M extends Method, P extends PathOf<M>>(method: M, path: P, options: RequestOptions<P, M>): Promise<ReplyOf<P, M>> {
    return this.#transport.short(exchangeOf(method, path, options), options.signal);
  }

  /** Closes idle connections. The jobs go on. */
  close(): void {
    this.#transport.close();
  }
}

/** Adds the record of a job to an error about its output or its start. */
function withRecord(error: unknown, record: JobRecord): unknown {
  if (!(error instanceof TroupeError)) {
    return error;
  }
  const { output, stderr, gaps } = error;
  return new TroupeError(error, { record, output, stderr, gaps, cause: error });
}
