import { onAbort } from "./signals.js";

const slice = 500; // ms for which a request keeps its slot while others wait

/** Slot is the right to one connection. */
export interface Slot {
  /** Gives the slot to the next request. A second call does nothing. */
  release(): void;
}

interface Held {
  since: number;
  quit: () => void;
}

/**
 * Slots bounds the connections of one kind of request; more requests wait in their order. A request that can
 * continue where it was gives its slot up when others wait: a thousand readers share fewer connections, and none
 * waits for the end of another.
 */
export class Slots {
  #free: number;
  readonly #waiting = new Set<() => void>();
  readonly #held = new Set<Held>(); // that can quit, oldest first
  #timer: NodeJS.Timeout | undefined;

  constructor(bound: number) {
    this.#free = bound;
  }

  /** Takes a slot. `quit`, if given, must end the request and release its slot. */
  async take(signal?: AbortSignal, quit?: () => void): Promise<Slot> {
    signal?.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
    } else {
      await this.#turn(signal);
    }
    const held = quit && { since: Date.now(), quit };
    if (held) {
      this.#held.add(held);
      this.#rotate();
    }
    let released = false;
    const release = () => {
      if (released) {
        return;
      }
      released = true;
      if (held) {
        this.#held.delete(held);
      }
      const next = this.#waiting.values().next();
      if (next.done) {
        this.#free++;
      } else {
        next.value();
      }
    };
    return { release };
  }

  /** Waits for the slot of another request. */
  #turn(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const turn = () => {
        this.#waiting.delete(turn);
        off();
        resolve();
      };
      const off = onAbort(signal, () => {
        this.#waiting.delete(turn);
        reject(signal?.reason);
      });
      this.#waiting.add(turn);
      this.#rotate();
    });
  }

  /** Lets the oldest requests quit, one for each that waits. */
  #rotate(): void {
    if (this.#timer || this.#waiting.size === 0 || this.#held.size === 0) {
      return;
    }
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      let quits = this.#waiting.size;
      for (const held of [...this.#held]) {
        if (quits === 0 || Date.now() - held.since < slice) {
          break;
        }
        quits--;
        held.quit();
      }
      this.#rotate();
    }, slice / 2);
  }
}
