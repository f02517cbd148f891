import { Absence } from "./absence.js";
import { link } from "./signals.js";
import type { Transport } from "./transport.js";
import type { Abortable, Schemas } from "./types.js";

/** What to wait for. */
export type WaitOptions = Schemas["WaitJobs"] & Abortable;

/** Waits until any or all of some jobs have ended or meet a condition, also over the ends of daemons. */
export async function ends(transport: Transport, { signal, ...what }: WaitOptions): Promise<Schemas["WaitEnded"]> {
  const late = Date.now() + (what.timeout_ms ?? 0);
  const away = new Absence();
  for (let sent = false; ; sent = true) {
    const controller = new AbortController();
    const slot = await transport.share(signal, () => controller.abort());
    const unlink = link(signal, controller);
    try {
      const body = what.timeout_ms ? { ...what, timeout_ms: Math.max(late - Date.now(), 1) } : what;
      return await transport.object<Schemas["WaitEnded"]>({ method: "POST", path: "/v1/wait", body, repeats: true }, controller.signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (!controller.signal.aborted) {
        await transport.recover(error, signal, away, true, sent);
      }
    } finally {
      unlink();
      slot.release();
    }
  }
}
