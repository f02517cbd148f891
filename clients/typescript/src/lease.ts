import type { IncomingMessage } from "node:http";

import { Absence } from "./absence.js";
import { TroupeError } from "./errors.js";
import { onAbort } from "./signals.js";
import type { Slot } from "./slots.js";
import type { Transport } from "./transport.js";
import type { Abortable, Schemas } from "./types.js";

const pauseTime = 1_000; // ms between two tries without a daemon

/**
 * Lease holds a scope: when this process ends, however it ends, the jobs in the scope stop. Only jobs that are detached or were
 * promoted by a person go on. A lease that is held does not keep the process alive.
 */
export class Lease {
  #held: IncomingMessage | undefined;
  #taking: Promise<void> | undefined; // from the next daemon
  #ending: Promise<Schemas["ScopeReleased"]> | undefined;

  /** @internal */
  constructor(
    private readonly transport: Transport,
    /** The scope that is held. */
    readonly scope: string,
  ) {}

  /** @internal Takes the lease, and takes it again from the next daemon. */
  async take(signal: AbortSignal | undefined): Promise<void> {
    const slot = await this.transport.keep(signal);
    try {
      await this.#take(signal, false);
    } catch (error) {
      slot.release();
      throw error;
    }
    void this.#hold(slot);
    onAbort(signal, () => void this.end().catch(() => {}));
  }

  /**
   * Ends the lease, once. It returns when nothing is left of the scope but what is kept and the survivors; at once, if
   * another process holds it, too.
   */
  end(options: Abortable & { grace_ms?: number; reason?: string } = {}): Promise<Schemas["ScopeReleased"]> {
    return (this.#ending ??= this.#end(options));
  }

  async #end({ signal, ...query }: Abortable & { grace_ms?: number; reason?: string }): Promise<Schemas["ScopeReleased"]> {
    await this.#taking?.catch(() => {});
    const release = () =>
      this.transport.short<Schemas["ScopeReleased"]>({ method: "DELETE", path: this.#held?.headers.location ?? "", query, repeats: true }, signal);
    try {
      return await release();
    } catch (error) {
      if (!TroupeError.is(error, "not_found", "lease")) {
        throw error;
      }
      await this.#take(signal, true); // the next daemon does not know it yet
      return await release();
    } finally {
      this.#held?.destroy();
    }
  }

  async #take(signal: AbortSignal | undefined, again: boolean): Promise<void> {
    const send = () => this.transport.exchange({ method: "POST", path: "/v1/leases", body: { path: this.scope } });
    this.#held = await this.transport.returning(send, signal, true, new Absence(), again);
    this.#held.socket.unref();
  }

  async #hold(slot: Slot): Promise<void> {
    while (!this.#ending) {
      await closed(this.#held!);
      while (!this.#ending) {
        this.#taking = this.#take(undefined, true);
        if (await this.#taking.then(() => true, () => false)) {
          break;
        }
        await new Promise((resolve) => setTimeout(resolve, pauseTime).unref());
      }
    }
    slot.release();
  }
}

/** Waits until a reply has ended. */
function closed(reply: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    if (reply.closed) {
      resolve();
    }
    reply.once("close", resolve);
    reply.on("error", () => {});
    reply.resume();
  });
}
