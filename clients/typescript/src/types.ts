import type { components } from "./api.js";

/** The objects of the API by their names in openapi.yaml. */
export type Schemas = components["schemas"];

/** What is known of a job. */
export type JobRecord = Schemas["Record"];

/** A fact with its number, as events() yields it. */
export type DaemonEvent = Schemas["Event"];

/** How a session is opened. */
export type SessionPlan = Schemas["SessionPlan"];

/** A range of an output whose bytes were not kept; `to` is not included. */
export type OutputGap = Schemas["OutputGap"];

/** The size of a terminal. */
export type Terminal = Schemas["Terminal"];

/** A stream of a job: `merged`, or `stdout` and `stderr` of a command that separates them. */
export type Stream = "merged" | "stdout" | "stderr";

/** A shell text, or a program and its arguments, which no shell sees. */
export type Command = string | readonly string[];

/** An option of every call. */
export interface Abortable {
  /** Ends the call, which then rejects with the reason of the signal. */
  signal?: AbortSignal | undefined;
}
