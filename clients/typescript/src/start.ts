import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:fs";
import { mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";

import type { Environment, Place, Settings } from "./door.js";
import { TroupeError, errno, isNoDaemon } from "./errors.js";
import { pause } from "./signals.js";
import type { Schemas } from "./types.js";

const startPatience = 10_000; // ms for a daemon to be ready
const lockPatience = 3_000; // ms from the lock of a daemon to its socket
const idleExit = "10m"; // the default of idle_exit

/**
 * Starts troupe serve outside of our process tree, as troupe run does, and returns when it is ready. If
 * another process has started one first, it waits for that with `reach`.
 */
export async function startDaemon(place: Place, settings: Settings, reach: () => Promise<void>): Promise<void> {
  const { state } = settings;
  if (!state) {
    throw new TroupeError({ code: "invalid_params", reason: "home", message: "neither HOME nor XDG_STATE_HOME names a directory", hint: "set one of them to an absolute path" });
  }
  await mkdir(state, { recursive: true, mode: 0o700 });
  const logFile = join(state, "daemon.log");
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  const log = await open(logFile, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  const args = ["serve", "--socket", settings.socket, "--state", state, "--idle-exit", await idleExitOf(settings), "--ready-fd", "3", "--detach"];
  let child: ChildProcess;
  let ready: Readable;
  let reported: Promise<void>;
  try {
    child = spawn(place.program, args, { argv0: "troupe", cwd: "/", detached: true, env: daemonEnvironment(place.env), stdio: ["ignore", log.fd, log.fd, "pipe"] });
    ready = child.stdio[3] as Readable;
    reported = report(ready, logFile); // now: Node drops what is unread when the first process exits
    reported.catch(() => {});
    await started(child, place.program);
  } finally {
    await log.close();
  }
  try {
    await reported;
  } catch (error) {
    if (!TroupeError.is(error, "conflict", "state")) {
      throw error;
    }
    await untilReached(reach, error);
  } finally {
    ready.destroy();
    child.unref();
  }
}

/** Waits until the program of a process runs. */
function started(child: ChildProcess, program: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (cause) => {
      const message = `cannot start the daemon: ${program}: ${errno(cause) ?? cause.message}`;
      reject(new TroupeError({ code: "not_found", reason: "program", message, hint: "install troupe, or name its program in the options" }, { cause }));
    });
  });
}

/** Reads the report of a daemon that starts. One that ends without it has written the cause to its log. */
async function report(ready: Readable, log: string): Promise<void> {
  const late = setTimeout(() => {
    const message = `the daemon was not ready within ${startPatience / 1000} s`;
    ready.destroy(new TroupeError({ code: "busy", reason: "daemon", message, hint: `see ${log}; retry, or kill that process` }));
  }, startPatience);
  let text = "";
  try {
    for await (const chunk of ready) {
      text += String(chunk);
    }
  } finally {
    clearTimeout(late);
  }
  let said: { error?: Schemas["Error"] | null };
  try {
    said = JSON.parse(text) as typeof said;
  } catch (cause) {
    throw new TroupeError({ code: "internal", reason: "daemon", message: "the daemon exited before it was ready", hint: `see ${log}` }, { cause });
  }
  if (said.error) {
    throw new TroupeError(said.error);
  }
}

/** Waits for a daemon that has locked the state directory and does not listen yet. */
async function untilReached(reach: () => Promise<void>, held: TroupeError): Promise<void> {
  for (const late = Date.now() + lockPatience; ; await pause(20)) {
    try {
      return await reach();
    } catch (error) {
      if (!isNoDaemon(error)) {
        throw error;
      }
      if (Date.now() > late) {
        throw held;
      }
    }
  }
}

/** Returns the part of an environment that a daemon needs. Secrets of its starter must not reach its jobs. */
function daemonEnvironment(env: Environment): Record<string, string> {
  const kept = ["PATH", "HOME", "LANG", "SHELL", "USER", "LOGNAME", "TMPDIR", "TZ", "TROUPE_CONFIG"];
  const entries = Object.entries(env).filter((e): e is [string, string] => e[1] !== undefined);
  return Object.fromEntries(entries.filter(([name]) => kept.includes(name) || /^(LC|XDG)_/.test(name)));
}

/** Returns the setting idle_exit, which is above all tables of the configuration. */
async function idleExitOf(settings: Settings): Promise<string> {
  if (!settings.config) {
    return idleExit;
  }
  const [top = ""] = (await readFile(settings.config, "utf8")).split(/^\s*\[/m);
  return /^\s*idle_exit\s*=\s*["']([^"'\n]+)["']/m.exec(top)?.[1] ?? idleExit;
}
