import { lstat, readFile } from "node:fs/promises";
import { execFile } from "node:child_process";
import { connect as dial } from "node:net";
import { isAbsolute, join, resolve } from "node:path";
import { promisify } from "node:util";

import { TroupeError, errno, isNoDaemon, noDaemon } from "./errors.js";
import { startDaemon } from "./start.js";

/** Environment is that of a process: variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where a client looks for the daemon. */
export interface Place {
  socket?: string | undefined;
  env: Environment;
  program: string;
  start: boolean;
}

/** Places of the daemon, as its settings say. */
export interface Settings {
  socket: string;
  state: string | undefined; // undefined: there is no home directory
  config: string | undefined; // the configuration file that was read
}

const doctorPatience = 20_000; // ms
const maxPath = 107; // bytes of the path of a unix socket

/** Door is the way to the daemon: the socket at which it listens, or an address of this machine. */
export interface Door {
  /** Options of a connection for http.request. */
  readonly at: { socketPath: string } | { host: string; port: number };
  /** What errors call the place. */
  readonly name: string;
  /** Looks for the daemon again, and starts one if it may. It throws if there is none. */
  find(start: boolean): Promise<void>;
}

/** PortDoor is a loopback address. */
export class PortDoor implements Door {
  readonly at: { host: string; port: number };
  readonly name: string;

  constructor(url: string) {
    const { protocol, hostname, port, host } = new URL(url);
    const loopback = hostname === "[::1]" || hostname === "localhost" || hostname.startsWith("127.");
    if (protocol !== "http:" || port === "" || !loopback) { // the token is for this machine
      throw new TroupeError({ code: "invalid_params", reason: "url", message: `invalid address ${url}`, hint: "write it as http://127.0.0.1:7420" });
    }
    this.at = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) };
    this.name = host;
  }

  find(): Promise<void> {
    return Promise.resolve();
  }
}

/** SocketDoor is a unix socket of this user. */
export class SocketDoor implements Door {
  at: { socketPath: string } = { socketPath: "" };
  #finding: Promise<void> | undefined;
  #mayStart = false; // of the search that runs

  constructor(private readonly place: Place) {}

  get name(): string {
    return this.at.socketPath;
  }

  /** Looks for the daemon; calls at the same time share one search. */
  async find(start: boolean): Promise<void> {
    start &&= this.place.start;
    if (this.#finding && start && !this.#mayStart) {
      await this.#finding.catch(() => {});
    }
    this.#mayStart ||= start;
    this.#finding ??= this.#search(start).finally(() => {
      this.#finding = undefined;
      this.#mayStart = false;
    });
    return this.#finding;
  }

  async #search(start: boolean): Promise<void> {
    const settings = await readSettings(this.place);
    this.at = { socketPath: settings.socket };
    const none = await this.#reach(settings).catch((error: unknown) => error);
    if (none === undefined) {
      return;
    }
    if (!start || !isNoDaemon(none)) {
      throw none;
    }
    await startDaemon(this.place, settings, () => this.#reach(settings));
    await this.#reach(settings);
  }

  /** Takes a socket if a daemon listens there, and returns why not. */
  async #knock(path: string): Promise<unknown> {
    try {
      await knock(path);
      this.at = { socketPath: path };
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** Takes the socket at which a daemon listens: the usual one, or that in the state directory. */
  async #reach(settings: Settings): Promise<void> {
    const first = await this.#knock(settings.socket);
    const other = settings.state && join(settings.state, "daemon.sock");
    if (first === undefined || !other || other === settings.socket) {
      return done(first);
    }
    const second = await this.#knock(other);
    const usual = settings.socket === usualSocket(this.place.env); // else that socket was meant
    done(second === undefined || (usual && isNoDaemon(second) && !isNoDaemon(first)) ? second : first);
  }
}

/** Throws an error, if there is one. */
function done(error: unknown): void {
  if (error !== undefined) {
    throw error;
  }
}

/** Connects to a socket and leaves it. A socket of another user is refused. */
async function knock(path: string): Promise<void> {
  if (Buffer.byteLength(path) > maxPath) {
    throw new TroupeError({ code: "invalid_params", reason: "socket", message: `the socket path is longer than ${maxPath} bytes: ${path}`, hint: "choose a shorter one" });
  }
  try {
    const { uid } = await lstat(path);
    if (uid !== process.geteuid?.()) {
      throw new TroupeError({ code: "refused", reason: "peer", message: `the socket ${path} belongs to another user`, hint: "each user has a daemon and a socket of their own" });
    }
    await new Promise<void>((reached, fail) => {
      const socket = dial(path, () => {
        socket.destroy();
        reached();
      });
      socket.once("error", fail);
    });
  } catch (error) {
    if (isNoDaemon(error)) {
      throw noDaemon(path, error);
    }
    if (["EACCES", "EPERM", "ENOTDIR"].includes(errno(error) ?? "")) {
      const message = `the socket ${path} cannot be reached: ${errno(error)}`;
      throw new TroupeError({ code: "refused", reason: "socket", message, hint: "set TROUPE_SOCKET, or XDG_RUNTIME_DIR, to a place of your own" }, { cause: error });
    }
    throw error;
  }
}

/** Reads where the daemon is: options, then the environment, then the configuration, then the usual places. */
async function readSettings(place: Place): Promise<Settings> {
  const { env } = place;
  const home = (name: string, below: string) => {
    const xdg = absolute(env[name]);
    const base = xdg ?? (absolute(env.HOME) && join(env.HOME as string, below));
    return base && join(base, "troupe");
  };
  const configured = env.TROUPE_CONFIG || home("XDG_CONFIG_HOME", ".config")?.concat("/config.toml");
  const settings: Settings = { socket: usualSocket(env), state: home("XDG_STATE_HOME", ".local/state"), config: undefined };
  if (configured && (await exists(configured))) {
    settings.config = configured;
    Object.assign(settings, await settingsOf(place));
  }
  settings.state = env.TROUPE_STATE ? resolve(env.TROUPE_STATE) : settings.state;
  settings.socket = resolve(place.socket || env.TROUPE_SOCKET || settings.socket);
  return settings;
}

/** Asks the program what the configuration says of the places. Its status 1 is about other problems. */
async function settingsOf(place: Place): Promise<Partial<Settings>> {
  const asked = promisify(execFile)(place.program, ["doctor", "--json"], { env: { ...place.env }, maxBuffer: 16 << 20, timeout: doctorPatience });
  let said: unknown;
  try {
    said = (await asked).stdout;
  } catch (error) {
    if (errno(error) === "ENOENT") {
      return {}; // without the program the usual places are all there is
    }
    said = (error as { stdout?: unknown }).stdout;
  }
  try {
    const { socket, state } = (JSON.parse(String(said)) as { daemon: { socket: string; state: string } }).daemon;
    return { ...(socket && { socket }), ...(state && { state }) };
  } catch (cause) {
    const message = `${place.program} doctor does not say where the daemon is`;
    throw new TroupeError({ code: "invalid_params", reason: "config", message, hint: "run troupe doctor: the configuration may be wrong" }, { cause });
  }
}

function usualSocket(env: Environment): string {
  const runtime = absolute(env.XDG_RUNTIME_DIR);
  if (runtime) {
    return join(runtime, "troupe", "daemon.sock");
  }
  return join(absolute(env.TMPDIR) ?? "/tmp", `troupe-${process.geteuid?.()}`, "daemon.sock");
}

function absolute(path: string | undefined): string | undefined {
  return path && isAbsolute(path) ? path : undefined;
}

async function exists(path: string): Promise<boolean> {
  return readFile(path).then(
    () => true,
    () => false,
  );
}
