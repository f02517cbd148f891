import type { IncomingMessage } from "node:http";

import { Absence } from "./absence.js";
import { TroupeError } from "./errors.js";
import { link } from "./signals.js";
import type { Transport } from "./transport.js";
import type { Abortable, DaemonEvent } from "./types.js";

const patience = 30_000; // ms without a daemon

/** Which events to read. Without a cursor, those from now on. */
export interface EventsOptions extends Abortable {
  /** Continue after the event with this number (`seq`); 0 begins with the oldest. */
  cursor?: number | undefined;
  /** The journal that gave this number: {@link Events.journal} at that time. With it, a journal that was replaced is noticed. */
  journal?: string | undefined;
  /** Only events up to now: the sequence ends after them. */
  past?: boolean;
  /** Only events of a scope and its sub-scopes. */
  scope?: string;
  /** Only events of this job. */
  job?: string;
  /** Only `command_finished`: each job has one. */
  ends?: boolean;
}

/**
 * Events are facts with their numbers, each once and in order, also over the ends of daemons. The event `facts_dropped`
 * names those that are no longer held, or says that the numbers begin anew.
 */
export class Events implements AsyncIterable<DaemonEvent> {
  /** The number of the last event, to continue after it later. */
  cursor: number | undefined;
  /** The origin of the journal that gave the cursor, for {@link EventsOptions.journal}. */
  journal: string | undefined;

  #resumes = false;
  readonly #iterator: AsyncGenerator<DaemonEvent>;

  /** @internal */
  constructor(
    private readonly transport: Transport,
    private readonly options: EventsOptions,
  ) {
    this.cursor = options.cursor ?? (options.past ? 0 : undefined);
    this.journal = options.journal;
    this.#iterator = this.#read();
  }

  /** Returns the one iterator over the events. */
  [Symbol.asyncIterator](): AsyncGenerator<DaemonEvent> {
    return this.#iterator;
  }

  async *#read(): AsyncGenerator<DaemonEvent> {
    const { signal } = this.options;
    const away = new Absence(patience);
    const slot = await this.transport.keep(signal);
    try {
      for (;;) {
        const controller = new AbortController();
        const unlink = link(signal, controller);
        try {
          yield* this.#stream(controller.signal, away);
          return;
        } catch (error) {
          signal?.throwIfAborted();
          await this.transport.recover(error, signal, away, true, this.#resumes);
        } finally {
          unlink();
          controller.abort();
        }
      }
    } finally {
      slot.release();
    }
  }

  /** Reads one connection to its end. */
  async *#stream(signal: AbortSignal, away: Absence): AsyncGenerator<DaemonEvent> {
    const { past, scope, job, ends } = this.options;
    const query = { scope, job, ends, past, now: this.cursor === undefined || undefined };
    const after = this.cursor === undefined ? undefined : String(this.cursor);
    const headers = { "Last-Event-ID": after, "Troupe-Journal": this.journal };
    const reply = await this.transport.exchange({ method: "GET", path: "/v1/events", query, headers, repeats: true }, signal);
    away.back();
    const journal = reply.headers["troupe-journal"] as string | undefined;
    for await (const line of lines(reply)) {
      if (line.startsWith("id: ")) {
        this.#begin(Number(line.slice(4)), journal);
      }
      if (!line.startsWith("data: ")) {
        continue; // the data has the number and the name of the event; a comment is a heartbeat
      }
      away.back();
      const event = JSON.parse(line.slice(6)) as DaemonEvent;
      if (event.event === "stream_ended") {
        if (event.error) {
          throw new TroupeError(event.error);
        }
        return;
      }
      const anew = event.event === "facts_dropped" && event.seq < (event.from ?? 0);
      if (event.seq <= (this.cursor ?? -1) && !anew) {
        continue; // received before the connection broke
      }
      this.cursor = event.seq;
      this.journal = journal;
      yield event;
    }
    throw Object.assign(new Error("the stream of events was cut off"), { code: "ECONNRESET" });
  }

  /** Sets the start of the sequence from the first number. */
  #begin(seq: number, journal: string | undefined): void {
    if (!this.#resumes) {
      this.#resumes = true;
      this.cursor = seq;
      this.journal = journal;
    }
  }
}

/** Yields the lines of a reply without their ends. */
async function* lines(reply: IncomingMessage): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of reply.setEncoding("utf8") as AsyncIterable<string>) {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
}
