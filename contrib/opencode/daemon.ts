/** A client of the troupe daemon for Bun, whose HTTP has no trailers and no interim replies: troupe-client needs them. */
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";

/** The fields of a job's record that are used here. */
export interface Job {
  id: string;
  uid: string;
  name: string | null;
  command: string;
  state: string;
  outcome: string | null;
  exit_code: number | null;
  signal: string | null;
  background: boolean;
  cause: { by: string; reason?: string } | null;
  error: { message: string } | null;
  output: { merged?: { bytes: number | null } };
}

/** An event of the daemon. */
export interface JobEvent {
  seq: number;
  event: string;
  job?: Job;
}

/** An error with the daemon's code, such as not_found. */
export class DaemonError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const patience = 15_000; // ms that a request waits for the next daemon, which takes a job back for as long
const pauseMs = 100; // between two attempts
const doctorPatience = 20_000; // ms

interface Request {
  method: string;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export class Daemon {
  readonly program: string;
  private found: Promise<string[]> | undefined;

  constructor(program = process.env.TROUPE_PROGRAM || "troupe") {
    this.program = program;
  }

  /** Returns the sockets at which the daemon may listen: the usual one, and that in its state directory. */
  private sockets(): Promise<string[]> {
    this.found ??= this.place().catch((error) => {
      this.found = undefined; // the next request asks again
      throw error;
    });
    return this.found;
  }

  /** Asks the program what the environment and the configuration say. Its status 1 is about other problems. */
  private place(): Promise<string[]> {
    return new Promise((resolve, reject) => {
      execFile(this.program, ["doctor", "--json"], { maxBuffer: 16 << 20, timeout: doctorPatience }, (error, said) => {
        try {
          const { socket, state, why } = JSON.parse(said).daemon;
          if (!socket) {
            throw new Error(why);
          }
          resolve([...new Set([socket, state && path.join(state, "daemon.sock")].filter(Boolean))]);
        } catch (cause) {
          reject(new Error(`${this.program} doctor does not say where the daemon is: ${(error && !said ? error : (cause as Error)).message}`));
        }
      });
    });
  }

  /** Opens a request and returns its reply, whose body is not read. */
  async open(request: Request): Promise<http.IncomingMessage> {
    const [socket, other] = await this.sockets();
    try {
      return await this.send(socket!, request);
    } catch (error) {
      if (!other || !(isAbsent(error) || codeOf(error) === "EACCES")) {
        throw error;
      }
      return this.send(other, request);
    }
  }

  private send(socketPath: string, request: Request): Promise<http.IncomingMessage> {
    const owner = fs.lstatSync(socketPath, { throwIfNoEntry: false })?.uid;
    if (owner !== undefined && owner !== process.getuid?.()) {
      return Promise.reject(Object.assign(new Error(`the socket ${socketPath} belongs to another user`), { code: "EACCES" }));
    }
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const headers: Record<string, string> = { ...request.headers };
    if (body !== undefined) {
      headers["Content-Type"] = "application/json";
      headers["Content-Length"] = String(Buffer.byteLength(body));
    }
    return new Promise((resolve, reject) => {
      const { method, path, signal } = request;
      const sent = http.request({ socketPath, agent: false, method, path, headers, signal });
      sent.on("response", resolve);
      sent.on("error", reject);
      sent.end(body);
    });
  }

  /** Sends a request and returns its reply. */
  async ask<T>(request: Request): Promise<T> {
    const reply = await this.open(request);
    if ((reply.statusCode ?? 500) >= 400) {
      throw await refusal(reply);
    }
    return JSON.parse(await textOf(reply)) as T;
  }

  /**
   * Repeats a request that may be repeated: without a daemon, or when it dies meanwhile, with
   * the next one. A new request starts a daemon. A repeated one, or one that is part of a call that
   * has begun (again), replaces a daemon that was killed; one that was shut down stays so.
   */
  async insist<T>(send: () => Promise<T>, signal?: AbortSignal, again = false): Promise<T> {
    for (const late = Date.now() + patience; ; again = true) {
      try {
        return await send();
      } catch (error) {
        const passing = isBroken(error) || (error instanceof DaemonError && error.code === "shutting_down");
        if (!passing || signal?.aborted || Date.now() > late) {
          throw error;
        }
        if (isAbsent(error) && (!again || (await this.killed()))) {
          await this.start();
        }
      }
      await pause(pauseMs, signal);
    }
  }

  /** Reports whether the daemon was killed: one that ends in order removes its sockets. */
  private async killed(): Promise<boolean> {
    return (await this.sockets()).some((socket) => fs.existsSync(socket));
  }

  /** Starts a daemon if there is none: troupe mcp does so, and ends with its input. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      const child = spawn(this.program, ["mcp"], { stdio: ["ignore", "ignore", "pipe"] });
      let said = "";
      child.stderr.on("data", (data) => (said = (said + data).slice(-500)));
      child.on("error", (error) => reject(new Error(`cannot start ${this.program}: ${error.message}`)));
      child.on("close", (status) => (status === 0 ? resolve() : reject(new Error(`troupe mcp: ${said.trim()}`))));
    });
  }

  /**
   * Returns the ends of the jobs of a scope until the signal, also over the death of the
   * daemon. It calls opened when the first end can no longer be missed.
   */
  async *ends(scope: string, signal: AbortSignal, opened: () => void): AsyncGenerator<JobEvent> {
    let last: number | undefined, journal: string | undefined;
    for (let again = false; !signal.aborted; again = true) {
      try {
        const query = `ends=true&scope=${encodeURIComponent(scope)}${last === undefined ? "&now=true" : ""}`;
        const headers: Record<string, string> = last === undefined ? {} : { "Last-Event-ID": String(last), ...(journal && { "Troupe-Journal": journal }) };
        const reply = await this.insist(() => this.open({ method: "GET", path: `/v1/events?${query}`, headers, signal }), signal, again);
        if (reply.statusCode === 503) { // it shuts down, or has no room
          reply.resume();
          await pause(pauseMs, signal);
          continue;
        }
        if (reply.statusCode !== 200) {
          reply.resume();
          throw new Error(`troupe does not report events: status ${reply.statusCode}`);
        }
        opened();
        for await (const block of blocks(reply)) {
          const id = /^id: ?(\d+)$/m.exec(block)?.[1];
          const data = /^data: ?(.*)$/m.exec(block)?.[1];
          if (id !== undefined) {
            last = Number(id);
            journal = reply.headers["troupe-journal"] as string | undefined;
          }
          if (data) {
            yield JSON.parse(data) as JobEvent;
          }
        }
      } catch (error) {
        if (signal.aborted) {
          return;
        }
        if (!isBroken(error)) {
          throw error;
        }
      }
      await pause(pauseMs, signal);
    }
  }

  /**
   * Holds a scope until the signal: its jobs stop when this process ends, however it ends. The
   * promise is of the first lease; a broken one is taken again.
   */
  lease(scope: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const hold = async (again: boolean) => {
        const reply = await this.insist(() => this.open({ method: "POST", path: "/v1/leases", body: { path: scope }, signal }), signal, again);
        if ((reply.statusCode ?? 500) >= 400) {
          reply.resume();
          throw new Error(`troupe does not lease the scope ${scope}: status ${reply.statusCode}`);
        }
        resolve();
        await ended(reply);
      };
      const keep = async () => {
        await hold(false);
        while (!signal.aborted) {
          await pause(pauseMs, signal);
          await hold(true).catch(() => pause(10 * pauseMs, signal)); // without a daemon there is nothing to hold
        }
      };
      keep().catch(reject);
    });
  }
}

/** Returns the error in a reply. */
export async function refusal(reply: http.IncomingMessage): Promise<DaemonError> {
  const body = JSON.parse((await textOf(reply)) || "null");
  const { code = "internal", message = `status ${reply.statusCode}`, hint } = body?.error ?? {};
  return new DaemonError(code, hint ? `${message} (${hint})` : message);
}

async function textOf(reply: http.IncomingMessage): Promise<string> {
  let text = "";
  reply.setEncoding("utf8");
  for await (const part of reply) {
    text += part;
  }
  return text;
}

/** Returns the code of the error of a connection, as Node or Bun has it. */
function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException)?.code ?? "";
}

/** Reports whether no process listens, so that the request was not sent. */
function isAbsent(error: unknown): boolean {
  return ["ENOENT", "ECONNREFUSED", "FailedToOpenSocket", "ConnectionRefused"].includes(codeOf(error));
}

/** Reports whether a connection failed, so that the daemon may be gone. */
export function isBroken(error: unknown): boolean {
  return isAbsent(error) || ["ECONNRESET", "EPIPE", "ConnectionClosed"].includes(codeOf(error));
}

/** Returns the blocks of a stream of events. */
async function* blocks(reply: http.IncomingMessage): AsyncGenerator<string> {
  let text = "";
  reply.setEncoding("utf8");
  for await (const part of reply) {
    text += part;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      yield text.slice(0, end);
      text = text.slice(end + 2);
    }
  }
}

/** Resolves when a reply has ended or broken. */
function ended(reply: http.IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    reply.on("close", resolve);
    reply.resume();
    reply.on("error", () => {});
  });
}

/** Waits, at most until the signal. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** Makes the ULID of a job, by which a repeated run joins the first. */
export function ulid(): string {
  const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  let bits = (BigInt(Date.now()) << 80n) | BigInt(`0x${randomBytes(10).toString("hex")}`);
  let text = "";
  for (let i = 0; i < 26; i++, bits >>= 5n) {
    text = alphabet[Number(bits & 31n)] + text;
  }
  return text;
}
