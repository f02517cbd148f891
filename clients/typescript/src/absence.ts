import { daemonLeft, isFull } from "./errors.js";
import { pause } from "./signals.js";

// Bounds of an absence, in milliseconds.
const returnTime = 15_000; // a job in the foreground lives as long without its client
const firstWait = 50;
const mostWait = 500; // longest wait between two tries
const fullFirst = 20;
const fullMost = 250; // longest wait between two tries of a request for which the daemon has no room
const roomTime = 60_000; // that such a request waits in all: others make room in less, or hold it for good

/** Absence is the time without a daemon that one request has met, and its waits for room in the daemon. */
export class Absence {
  #first: unknown;
  #until = 0;
  #wait = firstWait;
  #back = 0; // when the next daemon last answered
  #full = fullFirst;
  #roomUntil = 0; // 0: the daemon has room

  constructor(
    private readonly patience = returnTime,
    private readonly room = roomTime,
  ) {}

  /** Whether the request was last without a daemon. */
  get absent(): boolean {
    return this.#first !== undefined && this.#back === 0;
  }

  /** Waits before the next try of a request that failed. It throws the error of one that is not tried again. */
  async next(error: unknown, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const now = Date.now();
    if (isFull(error)) {
      return this.#waitForRoom(error, now, signal);
    }
    if (!daemonLeft(error)) {
      throw error;
    }
    if (this.#first === undefined || (this.#back > 0 && now - this.#back > mostWait)) {
      this.#first = error;
      this.#until = now + this.patience;
      this.#wait = firstWait;
    }
    this.#back = 0;
    const left = this.#until - now;
    if (left <= 0) {
      throw this.#first;
    }
    const wait = Math.min(this.#wait, left);
    this.#wait = Math.min(2 * this.#wait, mostWait);
    return pause(wait, signal);
  }

  /** Waits before the next try of a request for which the daemon has no room. */
  async #waitForRoom(error: unknown, now: number, signal?: AbortSignal): Promise<void> {
    this.#roomUntil ||= now + this.room;
    if (now >= this.#roomUntil) {
      throw error;
    }
    const wait = this.#full * (0.5 + Math.random()); // the clients of a full daemon come back apart
    this.#full = Math.min(2 * this.#full, fullMost);
    return pause(Math.min(wait, this.#roomUntil - now), signal);
  }

  /** Notes that a daemon has answered. A connection that breaks at once continues the absence. */
  back(): void {
    this.#back = Date.now();
    this.#full = fullFirst;
    this.#roomUntil = 0;
  }
}
