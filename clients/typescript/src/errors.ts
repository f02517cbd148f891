import type { JobRecord, OutputGap, Schemas } from "./types.js";

/** What an error has beside its sentence. */
interface More {
  record?: JobRecord | undefined;
  output?: Buffer | undefined;
  stderr?: Buffer | undefined;
  gaps?: readonly OutputGap[] | undefined;
  cause?: unknown;
}

/** A refusal of the daemon, or a failure to reach it: a code for programs, a sentence and a hint for people. */
export class TroupeError extends Error {
  override readonly name = "TroupeError";
  /** One of the codes of `x-troupe-statuses` in openapi.yaml, such as `not_found`. */
  readonly code: string;
  /** Refines the code, such as the name of a parameter. */
  readonly reason: string | undefined;
  /** What to do next. */
  readonly hint: string | undefined;
  /** The job that the failure is about, if there is one. */
  readonly record: JobRecord | undefined;
  /** What was kept of an output that has a gap, without the gap: the `bytes` of a run, or what output() reads. */
  readonly output: Buffer | undefined;
  /** The same of the stderr of a run. */
  readonly stderr: Buffer | undefined;
  /** The ranges that were not kept, of both. */
  readonly gaps: readonly OutputGap[];

  constructor(error: Schemas["Error"], more: More = {}) {
    super(error.message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = error.code;
    this.reason = error.reason;
    this.hint = error.hint;
    this.record = more.record;
    this.output = more.output;
    this.stderr = more.stderr;
    this.gaps = more.gaps ?? [];
  }

  /** Reports whether an error is a TroupeError with a code, and a reason if one is given. */
  static is(error: unknown, code: string, reason?: string): error is TroupeError {
    return error instanceof TroupeError && error.code === code && (reason === undefined || error.reason === reason);
  }
}

/** Returns the error number of a system call, such as ECONNRESET. */
export function errno(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && !(error instanceof TroupeError) ? code : undefined;
}

/** Reports whether no process listens at the socket. */
export function isNoDaemon(error: unknown): boolean {
  return ["ECONNREFUSED", "ENOENT"].includes(errno(error) ?? "") || TroupeError.is(error, "not_found", "daemon");
}

/** Reports whether the daemon has ended or is about to. */
export function daemonLeft(error: unknown): boolean {
  const broken = ["ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE", "HPE_INVALID_EOF_STATE"].includes(errno(error) ?? "");
  return broken || isNoDaemon(error) || TroupeError.is(error, "shutting_down") || TroupeError.is(error, "internal", "daemon");
}

/** Reports whether the daemon has no room now: it has not begun the request, which may be sent again. */
export function isFull(error: unknown): boolean {
  return (
    TroupeError.is(error, "resource_exhausted", "connections") ||
    TroupeError.is(error, "resource_exhausted", "rate") ||
    TroupeError.is(error, "queue_full") ||
    (TroupeError.is(error, "busy") && ["", "replace"].includes(error.reason ?? "")) || // other reasons are about one job
    isCrowded(error)
  );
}

/** Reports whether the queue of connections that wait at the socket is full. */
export function isCrowded(error: unknown): boolean {
  return errno(error) === "EAGAIN";
}

/** Returns a TroupeError for a connection that failed; other errors unchanged. */
export function explained(error: unknown, at: string): unknown {
  const code = errno(error);
  if (code === "EMFILE" || code === "ENFILE") {
    const message = `no connection to the daemon can be opened: ${code}`;
    return new TroupeError({ code: "resource_exhausted", reason: "descriptors", message, hint: "raise the limit of open files (ulimit -n) of this process" }, { cause: error });
  }
  if (isCrowded(error)) {
    const message = `too many clients wait for a connection to the daemon at ${at}`;
    return new TroupeError({ code: "resource_exhausted", reason: "connections", message, hint: "try again soon, or set limits.connections higher" }, { cause: error });
  }
  if (error instanceof TroupeError || !daemonLeft(error)) {
    return error;
  }
  if (isNoDaemon(error)) {
    return noDaemon(at, error);
  }
  const hint = "start the daemon with troupe serve; then troupe ps -a shows what became of the job";
  return new TroupeError({ code: "internal", reason: "daemon", message: "the connection to the daemon broke", hint }, { cause: error });
}

/** Returns the error of a place where no daemon listens. */
export function noDaemon(at: string, cause?: unknown): TroupeError {
  const hint = "start one with troupe serve or troupe run -b";
  return new TroupeError({ code: "not_found", reason: "daemon", message: `no daemon at ${at}`, hint }, { cause });
}

/** Returns the error of a daemon that takes or answers no connection: it is stopped, or hangs. */
export function unanswered(at: string, ms: number): TroupeError {
  const hint = "check its process and its log in the state directory, kill it, and retry: its jobs keep running";
  return new TroupeError({ code: "busy", reason: "daemon", message: `the daemon at ${at} did not answer within ${ms / 1000} s`, hint });
}

/** Returns the error of an output with gaps, which has what was kept. */
export function outputGap(more: More): TroupeError {
  const message = "a part of the output was not kept";
  const hint = "the error has what was kept; raise max_output of the command, or read with follow(), which names the gaps";
  return new TroupeError({ code: "output_unavailable", reason: "gap", message, hint }, more);
}
