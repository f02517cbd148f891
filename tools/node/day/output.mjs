// Outputs that are longer than a result.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { soak } from './world.mjs';

const page = 1 << 20;

// A long output is read page by page, and is what was written. Who reads a part of it
// begins anywhere.
export async function pages(agent, { size, from, to }) {
  const text = `seq 1 40000000 | head -c ${size}`;
  const want = (await agent.call('run', { command: `${text} | head -c ${to} | tail -c ${to - from} | sha256sum` })).output.slice(0, 64);
  const made = await agent.call('run', { command: text, wait_seconds: 55 });
  assert.equal(made.exit_code, 0);
  assert.equal(made.bytes, size);
  assert.equal(made.truncated, true);
  assert.ok(made.text.includes(`of ${size}`));
  const sum = createHash('sha256');
  for (let at = from; at < to;) {
    const r = await agent.call('read', { job_id: made.job_id, from: at, max_bytes: Math.min(page, to - at) });
    assert.equal(r.from, at);
    assert.equal(r.next, at + r.output.length);
    assert.ok(r.next > at && r.text.startsWith(r.output));
    sum.update(r.output);
    at = r.next;
  }
  assert.equal(sum.digest('hex'), want);
}

// Bytes that are no text are read as a resource.
export async function bytes(agent) {
  const size = 2.5 * page;
  const { job_id } = await agent.call('run', { command: `head -c ${size} /dev/urandom | tee random` });
  const got = [];
  for (let offset = 0; offset < size;) {
    const { contents: [part] } = await agent.client.readResource({ uri: `artifact://${job_id}/merged?offset=${offset}&limit=${page}` });
    got.push(Buffer.from(part.blob, 'base64'));
    assert.equal(part._meta['troupe/size'], size);
    offset = part._meta['troupe/next'];
  }
  assert.ok(Buffer.concat(got).equals(await readFile('random')));
}

// Whoever waits long hears that his command goes on. The first word comes after ten
// seconds, so that the short form of the day has only the token.
export async function progress(agent) {
  const told = [];
  const r = await agent.call('run', { command: `echo at work; sleep ${soak ? 21 : 0}` }, {
    onprogress: (p) => told.push(p), timeout: soak ? 15_000 : 60_000, resetTimeoutOnProgress: true,
  });
  assert.equal(r.exit_code, 0);
  if (!soak) return;
  assert.equal(told.length, 2);
  assert.ok(told[0].progress < told[1].progress);
  assert.match(told[0].message, /^at work \(1\d s\)/);
}
