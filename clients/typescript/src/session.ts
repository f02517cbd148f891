import type { Job } from "./job.js";
import type { Client } from "./client.js";
import { type CommandOptions, type Result, type RunOptions, type SpawnOptions, callers, outerScope } from "./run.js";
import type { Abortable, Command, Schemas, SessionPlan } from "./types.js";

/** How a session is opened, and where. */
export interface SessionOptions extends SessionPlan {
  /** The scope of the session: that of the job in which this process runs, or else `main`. */
  scope?: string;
}

/**
 * Session is a named place to run. Unless its plan has another `backend` it is a live shell: the directory, variables and
 * functions of a command stay for the next one. The first command opens it.
 */
export class Session {
  readonly #client: Client;
  readonly #scope: string | undefined;
  readonly #open: SessionPlan;

  /** @internal */
  constructor(
    client: Client,
    /** The name. */
    readonly name: string,
    { scope, ...plan }: SessionOptions,
  ) {
    this.#client = client;
    this.#scope = scope ?? outerScope();
    const live = (plan.backend ?? "shell").startsWith("shell"); // other sessions give their commands no environment
    this.#open = { cwd: process.cwd(), ...(live && { environment: callers }), ...plan };
  }

  #place(): Pick<CommandOptions, "session" | "scope" | "open"> {
    return { session: this.name, ...(this.#scope !== undefined && { scope: this.#scope }), open: this.#open };
  }

  /** Runs a command in the session, as Client.run does. Its directory is that of the session. */
  run(command: Command, options: RunOptions = {}): Promise<Result> {
    return this.#client.run(command, { ...options, ...this.#place() });
  }

  /** Starts a command in the session, as Client.spawn does. */
  spawn(command: Command, options: SpawnOptions = {}): Promise<Job> {
    return this.#client.spawn(command, { ...options, ...this.#place() });
  }

  /** Stops the jobs of the session and its shell. */
  close({ signal, ...how }: Abortable & Pick<Schemas["StopCommand"], "grace_ms" | "reason"> = {}): Promise<Schemas["SessionClosed"]> {
    return this.#client.request("delete", "/v1/sessions/{session}", { path: { session: this.name }, query: { scope: this.#scope, ...how }, signal });
  }
}
