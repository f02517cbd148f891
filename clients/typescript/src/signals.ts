import { setMaxListeners } from "node:events";

/** Calls a function when a signal is aborted, until the returned function is called. */
export function onAbort(signal: AbortSignal | undefined, call: () => void): () => void {
  if (!signal) {
    return () => {};
  }
  if (signal.aborted) {
    call();
    return () => {};
  }
  setMaxListeners(0, signal); // one signal may end a thousand runs
  signal.addEventListener("abort", call, { once: true });
  return () => signal.removeEventListener("abort", call);
}

/** Aborts a controller with a signal, until the returned function is called. */
export function link(signal: AbortSignal | undefined, controller: AbortController): () => void {
  return onAbort(signal, () => controller.abort(signal?.reason));
}

/** Waits for a promise, or rejects with the reason of the signal. What the promise does goes on. */
export async function unlessAborted<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  let off = () => {};
  const aborted = new Promise<never>((_, reject) => {
    off = onAbort(signal, () => reject(signal?.reason));
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    off();
  }
}

/** Waits for a time in milliseconds, or rejects with the reason of the signal. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      off();
      resolve();
    }, ms);
    const off = onAbort(signal, () => {
      clearTimeout(timer);
      reject(signal?.reason);
    });
  });
}
