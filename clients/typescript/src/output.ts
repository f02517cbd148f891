import { Absence } from "./absence.js";
import { TroupeError, outputGap } from "./errors.js";
import { link } from "./signals.js";
import type { Transport } from "./transport.js";
import type { Abortable, OutputGap, Stream } from "./types.js";

/** Which bytes of an output to read. */
export interface OutputOptions extends Abortable {
  /** The stream; `merged`, or `stdout` of a command that separates them, if left out. */
  stream?: Stream;
  /** The byte to begin with; 0. */
  offset?: number;
}

/** Mark that ends a reply before a gap: the next reply begins after it. */
class GapFollows extends Error {}

/**
 * The bytes of a stream, in the chunks in which they arrive. A slow reader delays no job. After the end of a daemon the
 * next one continues at the same byte.
 */
export class Output implements AsyncIterable<Buffer> {
  /** The byte after those read so far. */
  offset: number;
  /** The ranges that were skipped so far because their bytes were not kept. */
  readonly gaps: OutputGap[] = [];
  /** The size of the stream when reading began; undefined before. */
  size: number | undefined;

  readonly #iterator: AsyncGenerator<Buffer>;

  /** @internal */
  constructor(
    private readonly transport: Transport,
    private readonly path: string,
    private readonly stream: string,
    private readonly follow: boolean,
    options: OutputOptions,
  ) {
    this.offset = options.offset ?? 0;
    this.#iterator = this.#read(options.signal);
  }

  /** Returns the one iterator over the chunks. */
  [Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    return this.#iterator;
  }

  async *#read(signal?: AbortSignal): AsyncGenerator<Buffer> {
    const away = new Absence();
    for (let sent = false; ; sent = true) {
      const controller = new AbortController();
      const slot = await this.transport.share(signal, () => controller.abort());
      const unlink = link(signal, controller);
      let whole = false;
      try {
        yield* this.#reply(controller.signal, away);
        whole = true;
        return;
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof GapFollows) {
          whole = true;
        } else if (!controller.signal.aborted) {
          await this.transport.recover(error, signal, away, true, sent);
        }
      } finally {
        unlink();
        if (!whole) {
          controller.abort();
        }
        slot.release();
      }
    }
  }

  /** Reads one reply to its end. */
  async *#reply(signal: AbortSignal, away: Absence): AsyncGenerator<Buffer> {
    const query = { stream: this.stream, offset: this.offset || undefined, follow: this.follow || undefined };
    const reply = await this.transport.exchange({ method: "GET", path: `${this.path}/output`, query, headers: { Prefer: "resumable" }, repeats: true }, signal);
    away.back();
    this.size ??= Number(reply.headers["troupe-size"]);
    for await (const chunk of reply as AsyncIterable<Buffer>) {
      this.offset += chunk.length;
      yield chunk;
    }
    const next = reply.trailers["troupe-next-offset"];
    if (next === undefined) {
      throw Object.assign(new Error("the reply was cut off"), { code: "ECONNRESET" });
    }
    this.offset = Math.max(this.offset, Number(next));
    const gaps = gapsOf(reply.trailers["troupe-gaps"]);
    this.gaps.push(...gaps);
    if (gaps.length > 0) {
      throw new GapFollows();
    }
  }
}

/** Returns the gaps in the trailer of a reply. */
function gapsOf(text: string | undefined): OutputGap[] {
  return (text ? text.split(",") : []).map((part) => {
    const [from, to] = part.trim().split("-").map(Number);
    return { from: from ?? NaN, to: to ?? NaN };
  });
}

/** What there is of an output, without its gaps. */
export interface Kept {
  bytes: Buffer;
  gaps: readonly OutputGap[];
}

/** Reads all that was kept of an output by now. More than `most` bytes are an error. */
export async function keptOf(output: Output, most: number): Promise<Kept> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of output) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > most) {
      const message = `the output has more than ${most} bytes`;
      throw new TroupeError({ code: "too_large", reason: "output", message, hint: "read it with follow(), or raise max_bytes" });
    }
  }
  return { bytes: Buffer.concat(chunks), gaps: output.gaps };
}

/** Reads all that an output has now. A gap in it is an error that has the rest, and so are more than `most` bytes. */
export async function whole(output: Output, most: number): Promise<Buffer> {
  const { bytes, gaps } = await keptOf(output, most);
  if (gaps.length > 0) {
    throw outputGap({ output: bytes, gaps });
  }
  return bytes;
}
