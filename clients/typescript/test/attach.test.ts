import assert from "node:assert/strict";
import { test } from "node:test";

import { type Schemas, TroupeError } from "troupe-client";

import { all, kill, until, world } from "./world.js";

const terminal = { terminal: { rows: 24, cols: 80 }, stdin: "pipe" } as const;

test("a terminal is read, written and resized", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("read line; echo \"<$line>\"; stty size", terminal);
  const at = await client.attach(job.uid, { lease: "take" });
  at.resize({ rows: 30, cols: 100 });
  await at.write("hello\r");
  assert.equal(await all(at), "hello\r\n<hello>\r\n30 100\r\n");
  assert.equal((await job.wait()).exit_code, 0);
  await assert.rejects(at.write("more"), (error) => TroupeError.is(error, "job_finished"));
});

test("pipes are attached to, from a byte on", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn(["cat"], { stdin: "pipe" });
  await job.write("before ");
  await job.until({ kind: "pattern", pattern: "before" });
  const at = await job.attach({ lease: "ask", offset: 3 });
  const big = "x".repeat(200_000);
  const [text] = await Promise.all([all(at), at.write(big).then(() => at.closeInput())]);
  assert.equal(text, `ore ${big}`);
});

test("one client writes, and the others watch", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("read line; echo \"<$line>\"", terminal);
  const first = await job.attach({ lease: "take" });
  const events: Schemas["AttachEvent"][] = [];
  let taken: () => void = () => {};
  const held = new Promise<void>((resolve) => (taken = resolve));
  const second = await job.attach({ lease: "take", event: (e) => void (events.push(e), e.held && taken()) });
  await held;
  const watch = await job.attach();
  assert.equal(watch.held, false);
  const ended = Promise.all([first, second, watch].map(all));
  await second.write("it\r");
  assert.deepEqual(new Set(await ended), new Set(["it\r\n<it>\r\n"]));
  assert.equal(first.held, false);
  assert.deepEqual([events[0]?.type, events.at(-1)?.type], ["hello", "ended"]);
});

test("an attachment goes on with the next daemon", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("echo one; read line; echo \"<$line>\"", terminal);
  let hellos = 0;
  let again: () => void = () => {};
  const back = new Promise<void>((resolve) => (again = resolve));
  const at = await job.attach({ lease: "take", event: ({ type }) => type === "hello" && ++hellos === 2 && again() });
  assert.equal(await until(at, "one\r\n"), "one\r\n");
  const rest = all(at);
  await kill(client);
  await back;
  await at.write("two\r");
  assert.equal(await rest, "two\r\n<two>\r\n");
});

test("an aborted attachment rejects with the reason, and the job goes on", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("echo one; exec sleep 600", terminal);
  const enough = new AbortController();
  const at = await job.attach({ signal: enough.signal });
  await until(at, "one");
  const reason = new Error("enough");
  enough.abort(reason);
  await assert.rejects(all(at), reason);
  assert.equal((await job.record()).state, "running");
});

test("attaching to a job that there is not is refused", async (t) => {
  const client = await (await world(t)).client();
  const job = await client.spawn("true");
  await job.wait();
  await client.request("delete", "/v1/jobs/{id}", { path: { id: job.uid } });
  await assert.rejects(job.attach(), (error) => TroupeError.is(error, "not_found", "job"));
});
