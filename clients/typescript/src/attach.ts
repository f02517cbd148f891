import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";

import WebSocket from "ws";

import { Absence } from "./absence.js";
import { TroupeError, explained } from "./errors.js";
import { onAbort, pause } from "./signals.js";
import type { Slot } from "./slots.js";
import type { Transport } from "./transport.js";
import { refusal } from "./transport.js";
import type { Abortable, OutputGap, Schemas, Stream, Terminal } from "./types.js";

/** How to attach to a job. */
export interface AttachOptions extends Abortable {
  /** The stream; `merged`, or `stdout` of a command that separates them, if left out. */
  stream?: Stream;
  /** The byte of the output to begin with; 0. */
  offset?: number;
  /** `ask` for the right to write, or `take` it from the client that has it. Without it, watch. */
  lease?: "ask" | "take";
  /** The client shows the output on a terminal, which answers the queries of programs. */
  terminal?: boolean;
  /** Called with each message of the daemon, such as `lease`. */
  event?: (event: Schemas["AttachEvent"]) => void;
}

const maxInput = 64 << 10; // bytes of one message of input
const maxMessage = 64 << 20; // bytes of one message of the daemon; a record has the text of its command
const buffered = 1 << 20; // bytes of unread output above which the daemon waits
const leaseTime = 15_000; // ms that the client that had the lease has to return

/** Connects to a job. */
export async function attach(transport: Transport, path: string, options: AttachOptions): Promise<Attachment> {
  const slot = await transport.keep(options.signal);
  const attachment = new Attachment(transport, path, options, slot);
  try {
    await attachment.open();
    return attachment;
  } catch (error) {
    attachment.close();
    throw error;
  }
}

/** A message of input that the daemon has not answered. */
interface Write {
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Attachment is a connection to the terminal or the pipes of a job. It yields the output, and comes back to the next daemon
 * at the same byte. Read it while you write: messages about the input come between the bytes of the output.
 */
export class Attachment implements AsyncIterable<Buffer> {
  /** The byte after those received so far. */
  offset: number;
  /** The ranges that were skipped because their bytes were not kept. */
  readonly gaps: OutputGap[] = [];
  /** Whether this client may write. */
  held = false;

  #socket: WebSocket | undefined;
  #chunks: Buffer[] = [];
  #size = 0; // of chunks
  #over = false;
  #failure: unknown;
  #wake = () => {};
  #write: Write | undefined; // one at a time: each is answered by written or failed
  #last: Promise<unknown> = Promise.resolve(); // the call of write() before
  #leased: (() => void)[] = []; // writes that wait for the lease
  readonly #closed = new AbortController();
  #unlink = () => {};
  readonly #iterator: AsyncGenerator<Buffer>;

  /** @internal */
  constructor(
    private readonly transport: Transport,
    private readonly path: string,
    private readonly options: AttachOptions,
    private readonly slot: Slot,
  ) {
    this.offset = options.offset ?? 0;
    this.#iterator = this.#read();
    this.#unlink = onAbort(options.signal, () => this.#end(options.signal?.reason));
  }

  /** @internal Opens the first connection. */
  async open(): Promise<void> {
    await this.transport.returning(() => this.#connect(this.options.lease), this.#closed.signal);
  }

  /** Returns the one iterator over the output. */
  [Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    return this.#iterator;
  }

  async *#read(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk) {
          this.#size -= chunk.length;
          if (this.#size < buffered / 2) {
            this.#socket?.resume();
          }
          yield chunk;
        } else if (this.#failure !== undefined) {
          throw this.#failure;
        } else if (this.#over) {
          return;
        } else {
          await new Promise<void>((wake) => (this.#wake = wake));
        }
      }
    } finally {
      this.close();
    }
  }

  /** Writes input, and returns when the kernel has all of it. It waits for the right to write. */
  async write(data: string | Uint8Array): Promise<void> {
    const bytes = Buffer.from(data as Uint8Array);
    const before = this.#last;
    const written = (async () => {
      await before.catch(() => {});
      while (!this.held && !this.#over) {
        await new Promise<void>((leased) => this.#leased.push(leased));
      }
      for (let from = 0; from < bytes.length; from += maxInput) {
        await this.#send(bytes.subarray(from, from + maxInput));
      }
    })();
    this.#last = written.catch(() => {});
    return written;
  }

  #send(piece: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#over || !this.#socket) {
        reject(this.#failure ?? ended());
        return;
      }
      this.#write = { resolve, reject };
      this.#socket.send(piece, { binary: true });
    });
  }

  /** Changes the size of the terminal. It needs the right to write. */
  resize({ rows, cols }: Terminal): void {
    this.say({ type: "resize", rows, cols });
  }

  /** Ends the input of the job. */
  closeInput(): void {
    this.say({ type: "close_input" });
  }

  /** Sends a request, such as `{ type: "ask" }` for the right to write. */
  say(request: Schemas["AttachRequest"]): void {
    if (this.#socket?.readyState === WebSocket.OPEN) {
      this.#socket.send(JSON.stringify(request));
    }
  }

  /** Ends the attachment. The job goes on. */
  close(): void {
    this.#end(undefined);
  }

  #end(failure: unknown): void {
    if (this.#closed.signal.aborted) {
      return;
    }
    this.#failure ??= failure;
    this.#over = true;
    this.#closed.abort(failure);
    this.#unlink();
    this.#socket?.terminate();
    this.slot.release();
    this.#lose(failure ?? ended());
    this.#wake();
  }

  /** Opens one connection. */
  async #connect(lease: "ask" | "take" | undefined): Promise<void> {
    const { stream = "merged", terminal } = this.options;
    const query = new URLSearchParams({ stream, offset: String(this.offset), ...(lease && { lease }), ...(terminal && { terminal: "true" }) });
    const { at, name } = this.transport.door;
    const headers = this.transport.token ? { Authorization: `Bearer ${this.transport.token}` } : {};
    const socket = new WebSocket(`ws://${"socketPath" in at ? "troupe" : name}${this.path}/attach?${query}`, {
      createConnection: () => ("socketPath" in at ? connect(at.socketPath) : connect(at)),
      headers,
      maxPayload: maxMessage,
      perMessageDeflate: false,
    });
    socket.on("message", (data: Buffer, binary) => this.#receive(socket, data, binary));
    const refused = new Promise<never>((_, reject) => {
      socket.once("unexpected-response", (_request, reply) => {
        text(reply).then((body) => reject(refusal(reply, body)), reject);
      });
    });
    try {
      await Promise.race([once(socket, "open", { signal: this.#closed.signal }), refused]);
    } catch (error) {
      socket.on("error", () => {}); // of a connection that is dropped while it opens
      socket.terminate();
      this.#closed.signal.throwIfAborted();
      throw error;
    }
    this.#socket = socket;
    socket.on("error", () => {}); // close follows
    socket.once("close", (status) => void this.#again(socket, status));
    if (this.#closed.signal.aborted) {
      socket.terminate();
    }
  }

  #receive(socket: WebSocket, data: Buffer, binary: boolean): void {
    if (binary) {
      this.offset += data.length;
      this.#chunks.push(data);
      this.#size += data.length;
      if (this.#size > buffered) {
        socket.pause();
      }
      this.#wake();
      return;
    }
    const event = JSON.parse(data.toString()) as Schemas["AttachEvent"];
    this.#take(event);
    this.options.event?.(event);
  }

  /** Takes what an event says of the output, the lease and the input. */
  #take(event: Schemas["AttachEvent"]): void {
    switch (event.type) {
      case "hello":
      case "lease":
        this.held = event.held ?? false;
        if (this.held) {
          this.#leased.splice(0).forEach((leased) => leased());
        }
        break;
      case "gap":
        this.gaps.push({ from: event.from ?? 0, to: event.to ?? 0 });
        this.offset = event.to ?? this.offset;
        break;
      case "written":
        this.#answer()?.resolve();
        break;
      case "failed":
        if (!["invalid_params", "unsupported"].includes(event.error?.code ?? "")) { // else it answers a resize
          this.#answer()?.reject(new TroupeError(event.error ?? { code: "internal", message: "the input was refused" }));
        }
        break;
      case "ended":
        this.#end(undefined);
        break;
    }
  }

  #answer(): Write | undefined {
    const write = this.#write;
    this.#write = undefined;
    return write;
  }

  /** Rejects the write that no daemon has acknowledged. */
  #lose(error: unknown): void {
    this.#answer()?.reject(error);
    if (this.#over) {
      this.#leased.splice(0).forEach((leased) => leased());
    }
  }

  /** Connects to the next daemon after a broken connection. */
  async #again(broken: WebSocket, status: number): Promise<void> {
    if (this.#closed.signal.aborted) {
      return;
    }
    const held = this.held;
    this.held = false;
    this.#lose(new TroupeError({ code: "internal", reason: "daemon", message: "the daemon ended before it acknowledged the input", hint: "the job may have read it or not" }));
    const left = Object.assign(new Error("the connection to the job broke"), { code: "ECONNRESET" });
    try {
      if (status !== 1001 && status !== 1006) {
        throw left;
      }
      const away = new Absence();
      await this.transport.recover(left, this.#closed.signal, away);
      await this.transport.returning(() => this.#connect(held ? "take" : undefined), this.#closed.signal, true, away, true);
      if (this.options.lease && !held) {
        void this.#askLater(this.#socket);
      }
    } catch (error) {
      broken.terminate();
      this.#end(explained(error, this.transport.door.name));
    }
  }

  /** Asks for the lease when the client that had it has had the time to return. */
  async #askLater(socket: WebSocket | undefined): Promise<void> {
    await pause(leaseTime, this.#closed.signal).catch(() => {});
    if (socket === this.#socket) {
      this.say({ type: "ask" });
    }
  }
}

function ended(): TroupeError {
  return new TroupeError({ code: "job_finished", message: "the attachment has ended" });
}
