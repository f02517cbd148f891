import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { type Socket, createConnection, createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

import { type Client, type ConnectOptions, TroupeError, connect } from "troupe-client";

import { program, world } from "./world.js";

/** Starts a daemon in which one job runs at a time and two wait. They hold all its room, until the gate is written to. */
async function full(t: TestContext): Promise<{ client: Client; gate: string }> {
  const { client: connects, env, dir } = await world(t);
  await mkdir(join(env.XDG_CONFIG_HOME!, "troupe"));
  await writeFile(join(env.XDG_CONFIG_HOME!, "troupe", "config.toml"), "[limits]\nunstarted = 2\nparallel = 1\n");
  const client = await connects();
  const gate = join(dir, "gate");
  execFileSync("mkfifo", [gate]);
  const first = await client.spawn(`read line < ${gate}`);
  await Promise.all([client.spawn("true"), client.spawn("true")]);
  assert.equal((await first.record()).state, "running");
  return { client, gate };
}

test("a start waits for its place in a full queue", async (t) => {
  const { client, gate } = await full(t);
  const run = client.run("echo ran");
  const job = client.spawn("exit 3");
  const reason = new Error("enough");
  const enough = new AbortController();
  const ended = [client.run("true", { signal: enough.signal }), client.spawn("true", { signal: enough.signal })].map((call) => assert.rejects(call, reason));
  await assert.rejects(client.run("true", { timeout_ms: 300 }), (error) => TroupeError.is(error, "busy")); // after many tries of the others
  enough.abort(reason);
  await Promise.all(ended);
  await writeFile(gate, "\n");
  assert.equal((await run).text, "ran\n");
  assert.equal((await (await job).wait()).exit_code, 3);
  assert.equal((await client.jobs()).length, 5); // none of what was given up
});

test("starts that wait for room leave room for a stop", async (t) => {
  const { client } = await full(t);
  const [first] = await client.jobs();
  const starts = Array.from({ length: 100 }, () => client.spawn("true")); // more than short requests have connections
  await assert.rejects(client.run("true", { timeout_ms: 300 }), (error) => TroupeError.is(error, "busy"));
  await (await client.job(first!.uid)).stop();
  const jobs = await Promise.all(starts);
  assert.equal(new Set(jobs.map((job) => job.uid)).size, 100);
});

/** Takes the clock of the client, calls connect, and lets 30 s pass when it waits. Each timer is announced. */
async function failsLate(t: TestContext, options: ConnectOptions, waits: (timers: number) => boolean, waiting: Promise<void>): Promise<void> {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const timer = globalThis.setTimeout;
  let timers = 0;
  let armed = () => {};
  const all = new Promise<void>((resolve) => (armed = resolve));
  globalThis.setTimeout = Object.assign((...of: Parameters<typeof timer>) => {
    if (waits(++timers)) {
      armed();
    }
    return timer(...of);
  }, timer);
  try {
    const failed = assert.rejects(connect(options), (error) => {
      assert.ok(TroupeError.is(error, "busy", "daemon") && error.hint);
      assert.match(error.message, /^the daemon at .*\.sock did not answer within 30 s$/);
      return true;
    });
    await Promise.all([all, waiting]);
    t.mock.timers.tick(30_000);
    await failed;
  } finally {
    globalThis.setTimeout = timer;
  }
}

test("a daemon that does not answer is busy after 30 s", async (t) => {
  const { env, dir } = await world(t);
  const socket = join(dir, "hung.sock");
  let asked = () => {};
  const waiting = new Promise<void>((resolve) => (asked = resolve));
  const server = createServer((one) => one.on("error", () => {}).once("data", asked));
  await new Promise<void>((ready) => server.listen(socket, ready));
  t.after(() => server.close());
  await failsLate(t, { env, program, socket }, () => true, waiting);
});

test("a daemon that takes no connection is busy after 30 s", async (t) => {
  const { env, dir } = await world(t);
  const socket = join(dir, "full.sock");
  const text = `require("net").createServer().listen({ path: ${JSON.stringify(socket)}, backlog: 1 }, () => console.log("ready"))`;
  const server = spawn(process.execPath, ["-e", text], { stdio: ["ignore", "pipe", "inherit"] });
  const waiting: Socket[] = [];
  try {
    await once(server.stdout, "data");
    server.kill("SIGSTOP");
    for (let code = ""; code !== "EAGAIN"; ) {
      const one = createConnection(socket);
      waiting.push(one);
      code = await new Promise<string>((resolve) => one.on("connect", () => resolve("")).on("error", (error) => resolve((error as NodeJS.ErrnoException).code ?? "")));
    }
    await failsLate(t, { env, program, socket, start: false }, (timers) => timers === 2, Promise.resolve()); // the second one is before another try
  } finally {
    waiting.forEach((one) => one.destroy());
    server.kill("SIGKILL");
  }
});
