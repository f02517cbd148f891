/** Reads an output in frames: Bun has no trailers, in which the bytes alone come with the ranges that were not kept. */

const head = 8; // bytes: the stream, the kind, two zeros, and the length of the data, big endian
const bytesKind = 0;
const gapKind = 1; // the data are the first byte that was not kept, and the one after the last

/** Bytes, or the byte before which others were not kept; else 0. */
export interface Frame {
  data: Buffer;
  skipTo: number;
}

/** Yields the bytes and the gaps of an output. */
export async function* frames(reply: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const part of reply) {
    rest = Buffer.concat([rest, part]); // less than a frame, which has some 32 KiB
    for (let end = endOf(rest); end <= rest.length; end = endOf(rest)) {
      const data = rest.subarray(head, end);
      switch (rest[1]) {
        case bytesKind:
          yield { data, skipTo: 0 };
          break;
        case gapKind:
          yield { data: Buffer.alloc(0), skipTo: Number(data.readBigUInt64BE(8)) };
          break;
      }
      rest = rest.subarray(end);
    }
  }
}

/** Returns the end of the first frame; Infinity: it is not known yet. */
function endOf(bytes: Buffer): number {
  return bytes.length < head ? Infinity : head + bytes.readUInt32BE(4);
}
