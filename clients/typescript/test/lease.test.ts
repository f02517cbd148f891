import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";

import { kill, program, world } from "./world.js";

test("the jobs of a scope stop with its lease", async (t) => {
  const client = await (await world(t)).client();
  const lease = await client.lease("agent");
  const inside = await client.spawn("exec sleep 600", { scope: "agent" });
  const outside = await client.spawn("read line", { stdin: "pipe" });
  const { jobs } = await lease.end();
  assert.deepEqual(jobs, [inside.id]);
  assert.equal((await inside.record()).cause?.by, "scope");
  assert.equal((await outside.record()).state, "running");
});

test("a lease goes on with the next daemon", async (t) => {
  const client = await (await world(t)).client();
  const lease = await client.lease("agent");
  const job = await client.spawn("exec sleep 600", { scope: "agent" });
  await kill(client);
  assert.deepEqual((await lease.end()).jobs, [job.id]);
  assert.equal((await job.wait()).cause?.by, "scope");
});

test("a lease ends with its process", async (t) => {
  const { client: connects, env } = await world(t);
  const client = await connects();
  const text = `
    import { connect } from "troupe-client";
    const client = await connect({ program: ${JSON.stringify(program)} });
    await client.lease("agent");
    console.log((await client.spawn("exec sleep 600", { scope: "agent" })).uid);
    await new Promise((forever) => setTimeout(forever, 1e9));`;
  const holder = spawn(process.execPath, ["--input-type=module", "-e", text], { env, cwd: import.meta.dirname, stdio: ["ignore", "pipe", "inherit"] });
  const [uid] = await once(holder.stdout, "data");
  const job = await client.job(String(uid).trim());
  holder.kill("SIGKILL");
  const record = await job.wait();
  assert.deepEqual([record.outcome, record.cause?.by], ["cancelled", "scope"]);
});

test("a child of its process does not hold a lease", async (t) => {
  const { client: connects, env } = await world(t);
  const client = await connects();
  const text = `
    import { spawn } from "node:child_process";
    import { connect } from "troupe-client";
    const client = await connect({ program: ${JSON.stringify(program)} });
    await client.lease("agent");
    const job = await client.spawn("exec sleep 600", { scope: "agent" });
    const child = spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
    console.log(JSON.stringify({ uid: job.uid, pid: child.pid }));
    await new Promise((forever) => setTimeout(forever, 1e9));`;
  const holder = spawn(process.execPath, ["--input-type=module", "-e", text], { env, cwd: import.meta.dirname, stdio: ["ignore", "pipe", "inherit"] });
  const [said] = await once(holder.stdout, "data");
  const { uid, pid } = JSON.parse(String(said)) as { uid: string; pid: number };
  const job = await client.job(uid);
  holder.kill("SIGKILL");
  assert.equal((await job.wait()).cause?.by, "scope");
  process.kill(pid); // it has lived until now
});

test("an aborted signal ends a lease", async (t) => {
  const client = await (await world(t)).client();
  const controller = new AbortController();
  await client.lease("agent", { signal: controller.signal });
  const job = await client.spawn("exec sleep 600", { scope: "agent" });
  controller.abort();
  assert.equal((await job.wait()).cause?.by, "scope");
});
