import type { Abortable, Command, JobRecord, Schemas } from "./types.js";

/** The fields of a run that the API has, by their names there. Times are milliseconds. */
type Fields = Omit<Schemas["RunCommand"], "command" | "argv" | "mode" | "uid" | "rerun_of">;

/** How a command runs. */
export interface CommandOptions extends Fields, Abortable {
  /** Variables to set, above those of the `environment`, which is that of this process (`caller`) if it is left out; in a session, that of the session. */
  env?: Readonly<Record<string, string | undefined>>;
  /** The idempotency key: the same command with the same key runs once, and a repeat has the same job. */
  key?: string;
}

/** Options of run(). */
export interface RunOptions extends CommandOptions {
  /** Called once, while the command runs, with the ULID of its job: its output can be followed then. */
  started?: (uid: string) => void;
  /** Bytes of output that the result may have; 16 MiB. A larger output is the error `too_large`, with the record. */
  max_bytes?: number;
}

/** Options of spawn(). */
export interface SpawnOptions extends CommandOptions {
  /** `async`, or `detached`: the job has a keeper of its own. */
  mode?: "async" | "detached";
}

/** The record of a run with its output. */
export interface Result extends JobRecord {
  /** Whether the command has ended with exit status 0. */
  ok: boolean;
  /** What it wrote: stdout and stderr in the order of their arrival, or stdout if they are separate. */
  bytes: Buffer;
  /** The same as UTF-8 text. */
  text: string;
  /** Its stderr if `streams` is `separate`; else empty. */
  stderr: Buffer;
}

/** Makes the body of a run. `directory`, if given, is the default of `cwd`. */
export function bodyOf(command: Command, options: CommandOptions, mode: Schemas["RunCommand"]["mode"], directory: string | undefined): Schemas["RunCommand"] {
  const { env, key, signal, started, max_bytes, mode: _, ...fields } = options as RunOptions & SpawnOptions;
  void [key, signal, started, max_bytes];
  const inherited = fields.session === undefined ? callers : undefined;
  const environment = environmentOf(fields.environment ?? inherited, env);
  const scope = fields.scope ?? outerScope();
  return {
    ...fields,
    ...(scope && { scope }),
    ...(typeof command === "string" ? { command } : { argv: [...command] }),
    ...(mode && { mode }),
    ...((fields.cwd ?? directory) && { cwd: fields.cwd ?? directory }),
    ...(environment && { environment }),
  };
}

/** The environment of this process. */
export const callers: Schemas["Env"] = { policy: "caller" };

/** Returns the scope of the job that this process is in, as troupe run uses it. */
export function outerScope(): string | undefined {
  return process.env.TROUPE_SCOPE || undefined;
}

/** Adds variables to an environment. The policy `caller` has the environment of this process, unless it has a base. */
export function environmentOf(environment: Schemas["Env"] | undefined, env: CommandOptions["env"]): Schemas["Env"] | undefined {
  if (!environment && !env) {
    return undefined;
  }
  const { base, set = [], ...rest } = environment ?? {};
  const caller = rest.policy === "caller" ? (base ?? pairs(process.env)) : base;
  return { ...rest, ...(caller && { base: caller }), set: [...set, ...pairs(env ?? {})] };
}

function pairs(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
}
