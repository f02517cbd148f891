import assert from "node:assert/strict";
import { test } from "node:test";

import { all, port, until, world } from "./world.js";

test("a thousand jobs are started at once and followed at the same time", async (t) => {
  const client = await (await world(t)).client();
  const numbers = Array.from({ length: 1000 }, (_, i) => i);
  const texts = await Promise.all(
    numbers.map(async (i) => {
      const job = await client.spawn(`echo ${i}; echo end`);
      const [text, record] = await Promise.all([all(job.follow()), job.wait()]);
      assert.equal(record.exit_code, 0);
      return text;
    }),
  );
  assert.deepEqual(texts, numbers.map((i) => `${i}\nend\n`));
});

test("a thousand commands run with their output", async (t) => {
  const client = await (await world(t)).client();
  const numbers = Array.from({ length: 1000 }, (_, i) => i);
  const results = await Promise.all(numbers.map((i) => client.run(["echo", String(i)])));
  assert.deepEqual(results.map((one) => one.text), numbers.map((i) => `${i}\n`));
});

test("more followers than connections all make progress", async (t) => {
  const of = await world(t);
  const client = await of.client(await port(t, of)); // a port has 64 connections
  const jobs = await Promise.all(Array.from({ length: 60 }, (_, i) => client.spawn(["cat"], { stdin: "pipe", name: `cat${i}` })));
  const outputs = jobs.map((job) => job.follow());
  const first = Promise.all(outputs.map((output) => until(output, "\n"))); // none ends before all have begun
  await Promise.all(jobs.map((job, i) => job.write(`${i}\n`)));
  assert.deepEqual(await first, jobs.map((_, i) => `${i}\n`));
  const rest = Promise.all(outputs.map(all));
  await Promise.all(jobs.map((job) => job.write("more").then(() => job.closeInput())));
  assert.deepEqual(await rest, jobs.map(() => "more"));
});
