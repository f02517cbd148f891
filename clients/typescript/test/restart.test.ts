import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { type DaemonEvent, TroupeError } from "troupe-client";

import { all, daemonOf, gone, kill, program, until, world } from "./world.js";

test("events go on after their number when the daemon is killed", async (t) => {
  const client = await (await world(t)).client();
  const first = await client.spawn("exit 1");
  await first.wait();
  const events = client.events({ cursor: 0, ends: true });
  const iterator = events[Symbol.asyncIterator]();
  const seen: DaemonEvent[] = [(await iterator.next()).value];
  const next = iterator.next();
  const killed = await kill(client);
  const second = await client.spawn("exit 2");
  seen.push((await next).value);
  assert.notEqual(await daemonOf(client), killed);
  assert.deepEqual(seen.map((e) => [e.event, e.job?.uid, e.job?.exit_code]), [["command_finished", first.uid, 1], ["command_finished", second.uid, 2]]);
  assert.ok(seen[1]!.seq > seen[0]!.seq);
  assert.equal(events.cursor, seen[1]!.seq);
  await iterator.return(undefined);

  const past: DaemonEvent[] = [];
  for await (const event of client.events({ cursor: seen[0]!.seq, past: true, job: second.uid })) {
    past.push(event);
  }
  assert.ok(past.every((e) => e.seq > seen[0]!.seq && e.job?.uid === second.uid));
  assert.ok(past.some((e) => e.seq === seen[1]!.seq));
});

test("a journal that was replaced is told, also when its numbers have passed the cursor", async (t) => {
  const { client: connects, env } = await world(t);
  const client = await connects();
  const uids = async (n: number) => {
    const all = [];
    for (let i = 0; i < n; i++) {
      all.push((await client.run("true")).uid);
    }
    return all;
  };
  const before = await uids(2);
  const events = client.events({ cursor: 0, ends: true });
  const iterator = events[Symbol.asyncIterator]();
  const heard = async (n: number) => {
    const all: DaemonEvent[] = [];
    while (all.length < n) {
      all.push((await iterator.next()).value);
    }
    return all;
  };
  assert.deepEqual((await heard(2)).map((e) => e.job?.uid), before);
  const { cursor, journal } = events;
  assert.ok(cursor && journal);

  await kill(client);
  await rm(join(env.XDG_STATE_HOME!, "troupe", "journal.db"));
  const after = await uids(6);
  const told = (all: DaemonEvent[]) => {
    assert.deepEqual([all[0]!.event, all[0]!.seq, all[0]!.from], ["facts_dropped", 0, cursor + 1]);
    assert.deepEqual(all.slice(1).map((e) => e.job?.uid).filter((uid) => !before.includes(uid!)), after);
    assert.ok(all.at(-1)!.seq > cursor);
  };
  const live = await heard(1);
  while (live.at(-1)!.job?.uid !== after.at(-1)) {
    live.push(...(await heard(1)));
  }
  told(live);
  assert.notEqual(events.journal, journal);
  await iterator.return(undefined);

  const past: DaemonEvent[] = [];
  for await (const event of client.events({ cursor, journal, past: true, ends: true })) {
    past.push(event);
  }
  told(past);
});

test("events from now on begin before the next job", async (t) => {
  const client = await (await world(t)).client();
  await (await client.spawn("true", { name: "before" })).wait();
  const events = client.events({ ends: true });
  const next = events[Symbol.asyncIterator]().next();
  while (events.cursor === undefined) {
    await daemonOf(client); // until the stream has begun
  }
  const job = await client.spawn("true");
  assert.equal((await next).value.job.uid, job.uid);
});

test("what waits for a job goes on with the next daemon", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("echo one; read line; echo two; read line; exit 4", { stdin: "pipe" });
  const output = job.follow();
  assert.equal(await until(output, "\n"), "one\n");
  let uid = "";
  const begun = new Promise<void>((resolve) => {
    void client.run("echo ran; read line; exit 5", { stdin: "pipe", started: (id) => ((uid = id), resolve()) }).then((result) => finish(result.exit_code));
  });
  let finish: (status: number | null) => void = () => {};
  const ran = new Promise<number | null>((resolve) => (finish = resolve));
  await begun;
  const waits = job.wait();
  const killed = await kill(client);
  await job.write("\n");
  assert.equal(await until(output, "\n"), "two\n");
  await job.write("\n");
  assert.equal((await waits).exit_code, 4);
  assert.equal(await all(output), "");
  assert.equal(output.offset, 8);
  const run = await client.job(uid);
  await run.write("\n");
  assert.equal(await ran, 5);
  assert.notEqual(await daemonOf(client), killed);
});

test("a write that the end of a daemon cuts off is not sent twice", async (t) => {
  const { client: connects, dir } = await world(t);
  const client = await connects();
  execFileSync("mkfifo", [`${dir}/gate`]);
  const job = await client.spawn(`read line < ${dir}/gate; wc -c`, { stdin: "pipe" });
  const writing = job.write("x".repeat(200_000)); // waits for its reader
  const failed = writing.then(() => undefined, (error) => error);
  for (let i = 0; i < 50; i++) {
    await daemonOf(client); // until it waits there
  }
  await kill(client);
  assert.ok(TroupeError.is(await failed, "internal", "daemon"));
  await writeFile(`${dir}/gate`, "\n");
  await job.closeInput();
  assert.equal(Number(await all(job.follow())), 200_000);
});

test("a run that is aborted without a daemon is stopped", async (t) => {
  const client = await (await world(t)).client();
  const enough = new AbortController();
  const reason = new Error("enough");
  let begun = (_: string) => {};
  const started = new Promise<string>((resolve) => (begun = resolve));
  const run = assert.rejects(client.run("echo $$; exec sleep 600", { signal: enough.signal, started: begun }), reason);
  const uid = await started;
  const pid = Number(await until((await client.job(uid)).follow(), "\n"));
  await kill(client);
  enough.abort(reason);
  await run;
  assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  assert.equal((await (await client.job(uid)).record()).outcome, "cancelled");
});

test("close leaves what runs", async (t) => {
  const client = await (await world(t)).client();
  const run = client.run("read line; exit 3", { stdin: "pipe", name: "runs", started: () => started() });
  let started = () => {};
  await new Promise<void>((resolve) => (started = resolve));
  client.close();
  await (await client.job("runs")).write("\n");
  assert.equal((await run).exit_code, 3);
});

test("after an orderly end the next command starts a daemon", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("read line; exit 6", { stdin: "pipe" });
  const first = await daemonOf(client);
  await client.request("post", "/v1/shutdown", { body: {} });
  assert.equal((await client.run("echo next")).text, "next\n");
  assert.notEqual(await daemonOf(client), first);
  await job.write("\n");
  assert.equal((await job.wait()).exit_code, 6);
});

test("after an orderly end only a new call starts a daemon", async (t) => {
  const { client: connects, dir, env } = await world(t);
  const calls = () => readFile(join(dir, "calls"), "utf8");
  await writeFile(join(dir, "shim"), `#!/bin/sh\necho "$*" >> ${dir}/calls\nexec ${program} "$@"\n`, { mode: 0o700 });
  const client = await connects({ program: join(dir, "shim") });
  const first = await calls();
  const enough = new AbortController();
  const { signal } = enough;
  const job = await client.spawn("echo one; exec sleep 600");
  const read = async (lasting: AsyncIterable<unknown>) => {
    for await (const _ of lasting);
  };
  const [events, output] = [client.events({ cursor: 0, signal }), job.follow({ signal })];
  const lasting = [events, output, await job.attach({ signal })].map((one) => read(one).catch(() => {}));
  while (events.cursor === 0 || output.offset === 0) {
    await daemonOf(client); // until they have begun
  }
  await client.lease("agent", { signal });
  const pid = await daemonOf(client);
  await client.request("post", "/v1/shutdown", { body: {} });
  await gone(pid);
  const back = new Set<string>(); // to a stand-in
  await new Promise<void>((resolve) => {
    const server = createServer((one) => {
      one.on("error", () => {}).once("data", (head) => {
        back.add(/(events|output|attach|leases)/.exec(String(head).split("\r\n")[0]!)?.[0] ?? "");
        one.destroy();
        if (back.size === 4) {
          server.close();
          resolve();
        }
      });
    });
    server.listen(join(env.XDG_RUNTIME_DIR!, "troupe", "daemon.sock"));
  });
  assert.deepEqual([...back].sort(), ["attach", "events", "leases", "output"]);
  assert.equal(await calls(), first);
  assert.equal((await client.run("echo next")).text, "next\n");
  assert.match((await calls()).slice(first.length), /^serve .*\n$/);
  await job.stop();
  enough.abort();
  await Promise.all(lasting);
});

test("clients that come together start one daemon", async (t) => {
  const { client } = await world(t);
  const clients = await Promise.all(Array.from({ length: 5 }, () => client()));
  assert.equal(new Set(await Promise.all(clients.map(daemonOf))).size, 1);
});
