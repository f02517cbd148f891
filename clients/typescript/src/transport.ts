import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

import { Absence } from "./absence.js";
import type { Door } from "./door.js";
import { TroupeError, daemonLeft, errno, explained, isCrowded, isNoDaemon } from "./errors.js";
import { type Slot, Slots } from "./slots.js";
import { link, unlessAborted } from "./signals.js";
import type { Schemas } from "./types.js";

/** Bounds of the connections of one client, by what a request does. */
interface Bounds {
  fixed: number; // runs, events and attachments, which keep their connection
  lasting: number; // these, and outputs and waits, which share the rest
  short: number;
  inputs: number; // a write waits until its job reads
}

/** The socket has 1,024 connections, and 896 for requests that last: other clients find room beside these. */
export const socketBounds: Bounds = { fixed: 512, lasting: 768, short: 64, inputs: 48 };

/** A port has 64 connections. */
export const portBounds: Bounds = { fixed: 24, lasting: 40, short: 8, inputs: 8 };

const idleTime = 4_000; // ms, below the idle timeout of the daemon

/** One request. */
export interface Exchange {
  method: string;
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  body?: object;
  headers?: Record<string, string | undefined>;
  /** It reads, or its repeat changes nothing: it can be sent again to the next daemon. */
  repeats?: boolean;
  /** Called when the request is about to be sent. */
  sending?: () => void;
  /** Receives the headers of a 102 reply. */
  processing?: (headers: Record<string, unknown>) => void;
}

/** Transport sends requests over kept connections, and again to the next daemon. */
export class Transport {
  readonly #agent: Agent;
  readonly #fixed: Slots;
  readonly #lasting: Slots;
  readonly #short: Slots;
  readonly #inputs: Slots;

  constructor(
    readonly door: Door,
    readonly token: string | undefined,
    bounds: Bounds,
  ) {
    this.#fixed = new Slots(bounds.fixed);
    this.#lasting = new Slots(bounds.lasting);
    this.#short = new Slots(bounds.short);
    this.#inputs = new Slots(bounds.inputs);
    const maxSockets = bounds.lasting + bounds.short + bounds.inputs;
    this.#agent = new Agent({ keepAlive: true, scheduling: "lifo", maxFreeSockets: bounds.short, maxSockets, timeout: idleTime });
  }

  /** Closes idle connections. */
  close(): void {
    Object.values(this.#agent.freeSockets).forEach((sockets) => sockets?.forEach((socket) => socket.destroy()));
  }

  /** Sends a short request and returns the object of its reply. */
  short<T>(x: Exchange, signal?: AbortSignal, away?: Absence): Promise<T> {
    return this.#within([this.#short], x, signal, away);
  }

  /** Sends an input, which is answered when its job has room for it. */
  input<T>(x: Exchange, signal?: AbortSignal): Promise<T> {
    return this.#within([this.#inputs], x, signal);
  }

  /** Sends a request that keeps its connection until it is answered. */
  fixed<T>(x: Exchange, signal?: AbortSignal, away?: Absence): Promise<T> {
    return this.#within([this.#fixed, this.#lasting], x, signal, away);
  }

  /** Sends a request while it has its slots. Between two tries others have them: a stop may make the room for which starts wait. */
  #within<T>(of: Slots[], x: Exchange, signal?: AbortSignal, away?: Absence): Promise<T> {
    const send = async () => {
      const slots: Slot[] = [];
      try {
        for (const one of of) {
          slots.push(await one.take(signal));
        }
        return await this.object<T>(x, signal);
      } finally {
        slots.forEach((slot) => slot.release());
      }
    };
    return this.returning(send, signal, x.repeats ?? false, away);
  }

  /** Takes what a stream needs that keeps its connection. */
  async keep(signal?: AbortSignal): Promise<Slot> {
    const fixed = await this.#fixed.take(signal);
    try {
      const lasting = await this.#lasting.take(signal);
      return {
        release: () => {
          fixed.release();
          lasting.release();
        },
      };
    } catch (error) {
      fixed.release();
      throw error;
    }
  }

  /** Takes a slot of a request that can continue later. `quit` ends it, since others wait. */
  async share(signal: AbortSignal | undefined, quit: () => void): Promise<Slot> {
    const slot: Slot = await this.#lasting.take(signal, () => {
      quit();
      slot.release();
    });
    return slot;
  }

  /**
   * Sends a request until a daemon answers it. A request that finds no daemon starts one. A repeated one does so only
   * if the daemon was killed: after an orderly end it waits for the next. `sent` says that it is a repeat.
   */
  async returning<T>(send: () => Promise<T>, signal?: AbortSignal, repeats = true, away = new Absence(), sent = false): Promise<T> {
    for (;;) {
      try {
        return await send();
      } catch (error) {
        await this.recover(error, signal, away, repeats, sent);
        sent ||= !isNoDaemon(error);
      }
    }
  }

  /** Waits until a request that failed can be sent again. It throws the error of one that cannot. */
  async recover(error: unknown, signal: AbortSignal | undefined, away: Absence, repeats = true, sent = true): Promise<void> {
    try {
      if (daemonLeft(error) && !isNoDaemon(error) && !repeats) {
        throw error;
      }
      if (isNoDaemon(error)) {
        const killed = errno(error) === "ECONNREFUSED" || errno((error as Error).cause) === "ECONNREFUSED";
        await unlessAborted(this.#next(!sent || killed, sent), signal);
      }
      await away.next(error, signal);
    } catch (final) {
      signal?.throwIfAborted();
      throw explained(final, this.door.name);
    }
  }

  /** Looks for the next daemon, or starts it. One that is not there yet is no error: another process may start it. */
  async #next(start: boolean, waits: boolean): Promise<void> {
    try {
      await this.door.find(start);
    } catch (error) {
      if (!waits && !isNoDaemon(error) && !isCrowded(error)) {
        throw error;
      }
    }
  }

  /** Sends a request once and returns the object of its reply. */
  async object<T>(x: Exchange, signal?: AbortSignal): Promise<T> {
    const reply = await this.exchange(x, signal);
    try {
      return JSON.parse(await text(reply)) as T;
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  }

  /** Sends a request once and returns its reply after its header. An error of the daemon is thrown. */
  async exchange(x: Exchange, signal?: AbortSignal): Promise<IncomingMessage> {
    signal?.throwIfAborted();
    let reply: IncomingMessage;
    try {
      reply = await this.#send(x, signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
    if ((reply.statusCode ?? 0) < 400) {
      return reply;
    }
    throw refusal(reply, await text(reply));
  }

  #send(x: Exchange, signal: AbortSignal | undefined, fresh = !x.repeats): Promise<IncomingMessage> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(x.query ?? {})) {
      if (value !== undefined) {
        query.set(name, String(value));
      }
    }
    const path = query.size > 0 ? `${x.path}?${query}` : x.path;
    const body = x.body && Buffer.from(JSON.stringify(x.body));
    const headers: Record<string, string> = "socketPath" in this.door.at ? { Host: "troupe" } : {};
    for (const [name, value] of Object.entries(x.headers ?? {})) {
      if (value !== undefined) {
        headers[name] = value;
      }
    }
    if (body) {
      Object.assign(headers, { "Content-Type": "application/json", "Content-Length": String(body.length) });
    }
    if (this.token) {
      headers["Authorization"] = `Bearer ${this.token}`;
    }
    x.sending?.();
    return new Promise((resolve, reject) => {
      const controller = new AbortController();
      const unlink = link(signal, controller);
      const sent: ClientRequest & { res?: IncomingMessage } = request({ ...this.door.at, method: x.method, path, headers, agent: fresh ? false : this.#agent, signal: controller.signal }, (reply) => {
        reply.once("close", unlink);
        resolve(reply);
      });
      sent.on("information", (info) => x.processing?.(info.headers));
      let over = false; // one failure counts
      sent.on("error", (error) => {
        unlink();
        if (over || sent.res) {
          return; // else the reply has the error
        }
        over = true;
        // The daemon has closed a kept connection at the moment in which the request was sent on it.
        if (sent.reusedSocket && daemonLeft(error) && x.repeats && !controller.signal.aborted) {
          this.#send(x, signal, true).then(resolve, reject);
          return;
        }
        reject(error);
      });
      sent.end(body);
    });
  }
}

/** Returns the error in a reply. */
export function refusal(reply: IncomingMessage, body: string): Error {
  try {
    const { error } = JSON.parse(body) as Schemas["ErrorBody"];
    if (typeof error.code === "string" && typeof error.message === "string") {
      return new TroupeError(error);
    }
  } catch {
    // not JSON: another server has answered
  }
  const message = `the reply ${reply.statusCode} did not come from a troupe daemon`;
  return new TroupeError({ code: "internal", reason: "reply", message, hint: "check the address" });
}
