import { type ChildProcess, execFile, spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { TestContext } from "node:test";
import { promisify } from "node:util";

import { type Client, type ConnectOptions, connect } from "troupe-client";

export const program = process.env.TROUPE_PROGRAM ?? "troupe";

/** The directories of a user of their own, whose daemon ends with the test. */
export interface World {
  dir: string;
  env: Record<string, string>;
  /** Connects a client, which starts the daemon. */
  client: (options?: ConnectOptions) => Promise<Client>;
}

export async function world(t: TestContext): Promise<World> {
  const dir = await mkdtemp(join(tmpdir(), "w"));
  const env: Record<string, string> = { PATH: process.env.PATH ?? "", HOME: dir, TMPDIR: dir, LC_ALL: "C.UTF-8" };
  for (const [name, below] of Object.entries({ XDG_RUNTIME_DIR: "r", XDG_STATE_HOME: "s", XDG_CONFIG_HOME: "c" })) {
    env[name] = join(dir, below);
    await mkdir(env[name], { mode: 0o700 });
  }
  const clients: Client[] = [];
  t.after(async () => {
    clients.forEach((client) => client.close());
    await promisify(execFile)(program, ["shutdown", "--stop-jobs", "--grace", "0"], { env }).catch(() => {}); // there may be none
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
  });
  const client = async (options: ConnectOptions = {}) => {
    const one = await connect({ env, program, ...options });
    clients.push(one);
    return one;
  };
  return { dir, env, client };
}

/** Starts a daemon that listens on a port, too, and returns the address and the token. */
export async function port(t: TestContext, { env }: World): Promise<{ url: string; token: string }> {
  const daemon: ChildProcess = spawn(program, ["serve", "--http", "127.0.0.1:0"], { env, stdio: ["ignore", "ignore", "pipe"] });
  t.after(() => daemon.kill());
  let url = "", token = "";
  for await (const line of createInterface({ input: daemon.stderr as Readable })) {
    const said = JSON.parse(line) as { address?: string; token_file?: string; message: string };
    if (said.token_file) {
      url = `http://${said.address}`;
      token = (await readFile(said.token_file, "utf8")).trim();
    }
    if (said.message === "ready") {
      break;
    }
  }
  daemon.stderr?.resume();
  return { url, token };
}

/** Kills the daemon, as a crash would, and returns when it has ended: no request is cut off by it then. */
export async function kill(client: Client): Promise<number> {
  const pid = await daemonOf(client);
  process.kill(pid, "SIGKILL");
  await gone(pid);
  return pid;
}

/** Waits for the end of a process. */
export async function gone(pid: number): Promise<void> {
  while (lives(pid)) {
    await new Promise((later) => setTimeout(later, 1));
  }
}

function lives(pid: number): boolean {
  try {
    const over = /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
    return !over || readdirSync(`/proc/${pid}/task`).length > 1; // the other threads have its sockets
  } catch {
    return false;
  }
}

/** Returns the process of the daemon that answers now. */
export async function daemonOf(client: Client): Promise<number> {
  return (await client.request("get", "/v1/version", {})).pid;
}

/** Reads the text of some chunks up to a word, and leaves the rest. */
export async function until(chunks: AsyncIterable<Buffer>, word: string): Promise<string> {
  const iterator = chunks[Symbol.asyncIterator]();
  for (let text = ""; ; ) {
    const { done, value } = await iterator.next();
    text += done ? "" : value.toString();
    if (done || text.includes(word)) {
      return text;
    }
  }
}

/** Reads the text of all chunks. */
export async function all(chunks: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) {
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString();
}
