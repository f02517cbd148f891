import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";

import { TroupeError } from "troupe-client";

import { all, until, world } from "./world.js";

test("a job is started, waited for and read", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("echo begun; exit 7", { name: "one", tag: "mine" });
  const record = await job.wait();
  assert.deepEqual([record.exit_code, record.tag, record.background], [7, "mine", true]);
  const found = await client.job("one");
  assert.deepEqual([found.uid, found.id], [job.uid, job.id]);
  assert.equal((await found.output()).toString(), "begun\n");
  assert.equal((await found.output({ offset: 3 })).toString(), "un\n");
  assert.deepEqual((await client.jobs()).map((one) => one.name), ["one"]);
});

test("a job that cannot start is an error with its record", async (t) => {
  const client = await (await world(t)).client();
  await assert.rejects(client.spawn(["/no/such/program"]), (error) => TroupeError.is(error, "spawn_failed") && error.record?.outcome === "failed_to_start");
});

test("the output is followed while the job runs", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("echo one; read line; echo two $line", { stdin: "pipe" });
  const output = job.follow();
  assert.equal(await until(output, "\n"), "one\n");
  assert.equal(output.offset, 4);
  await job.write("go\n");
  assert.equal(await all(output), "two go\n");
  assert.deepEqual([output.offset, output.gaps], [11, []]);
});

test("both streams of a job are followed", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("echo out; echo err >&2", { streams: "separate" });
  assert.deepEqual(await Promise.all([all(job.follow()), all(job.follow({ stream: "stderr" }))]), ["out\n", "err\n"]);
});

test("a slow reader delays no job and gets all", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("head -c 8000000 /dev/zero");
  const output = job.follow();
  const iterator = output[Symbol.asyncIterator]();
  const first = await iterator.next();
  assert.equal((await job.wait()).exit_code, 0);
  assert.equal(output.offset, (first.value as Buffer).length); // nothing is read ahead of its reader
  let size = output.offset;
  for await (const chunk of output) {
    size += chunk.length;
  }
  assert.equal(size, 8_000_000);
});

test("gaps of an output are reported", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("head -c 3000000 /dev/zero; echo end", { max_output: { bytes: 1_000_000, policy: "elide" } });
  await job.wait();
  const output = job.follow();
  const text = await all(output);
  assert.ok(text.endsWith("end\n"));
  assert.equal(output.offset, 3_000_004);
  assert.ok(output.gaps.length > 0);
  assert.equal(output.gaps.reduce((sum, gap) => sum + gap.to - gap.from, text.length), 3_000_004);
  await assert.rejects(job.output(), (error) => {
    assert.ok(TroupeError.is(error, "output_unavailable", "gap"));
    assert.deepEqual([error.output?.toString(), error.gaps], [text, output.gaps]);
    return true;
  });
});

test("a follower that is aborted rejects with the reason", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("echo one; exec sleep 600");
  const enough = new AbortController();
  const output = job.follow({ signal: enough.signal });
  assert.equal(await until(output, "\n"), "one\n");
  const reason = new Error("enough");
  const ended = [all(output), job.wait({ signal: enough.signal })].map((call) => assert.rejects(call, reason));
  enough.abort(reason);
  await Promise.all(ended);
  assert.equal((await job.record()).state, "running");
});

test("input reaches the job byte for byte", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn(["cat"], { stdin: "pipe" });
  const bytes = randomBytes(700_001);
  await Promise.all([job.write(bytes).then(() => job.closeInput()), job.wait()]);
  assert.deepEqual(await job.output(), bytes);
  await job.closeInput(); // of a job that has finished
  await assert.rejects(job.write("more"), (error) => TroupeError.is(error, "job_finished"));
});

test("a job is stopped with all its processes", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("setsid sleep 600 & trap 'echo term; exit 5' TERM; echo ready; while :; do wait; done");
  await until(job.follow(), "ready");
  const stopped = await job.stop({ reason: "not needed" });
  assert.deepEqual(stopped.survivors, []);
  const record = await job.record();
  assert.deepEqual([record.outcome, record.cause?.by, record.cause?.reason], ["cancelled", "client", "not needed"]);
  assert.equal((await job.stop()).already, true);
});

test("a signal reaches the job", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("trap 'echo usr1; exit 6' USR1; echo ready; while :; do sleep 0.01; done");
  const output = job.follow();
  await until(output, "ready");
  await job.signal("USR1");
  assert.equal((await job.wait()).exit_code, 6);
  assert.equal(await all(output), "usr1\n");
});

test("a condition of a job is waited for", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("echo listening; exec sleep 600");
  assert.equal((await job.until({ kind: "pattern", pattern: "^listening" })).satisfied, true);
  assert.equal((await job.until({ kind: "exit" }, { timeout_ms: 50 })).timed_out, true);
});
