// Commands that end within their call.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { connect, revisions as known } from './sdk.mjs';
import { fifo } from './world.mjs';

const numbers = Array.from({ length: 3000 }, (_, i) => `${i + 1}\n`).join('');

// task is one command of a day, and what it must answer. Only these use the session.
function task(i, session) {
  switch (i % 8) {
    case 0: return { args: { command: `echo hello ${i}` }, output: `hello ${i}\n`, code: 0 };
    case 1: return { args: { command: `echo no; exit ${i % 200 + 1}` }, output: 'no\n', code: i % 200 + 1 };
    case 2: return { args: { command: 'seq 1 3000' }, output: numbers, code: 0 };
    case 3: return { args: { command: 'echo out; echo err >&2; kill -9 $$' }, output: 'out\nerr\n', code: 137 };
    case 4: return { args: { command: 'tr a-z A-Z; exit 3', stdin: 'some words\n'.repeat(1500) }, output: 'SOME WORDS\n'.repeat(1500), code: 3 };
    case 5: return { args: { argv: ['printf', '%s|', 'a b', '$HOME', '*', ''] }, output: 'a b|$HOME|*||', code: 0 };
    case 6: return { args: { command: "printf 'héllo 世界 🎭'; exit 4" }, output: 'héllo 世界 🎭', code: 4 };
  }
  return { args: { command: 'n=$((n + 1)); echo $n', session }, output: `${Math.floor(i / 8) + 1}\n`, code: 0 };
}

async function one(agent, i, session) {
  const want = task(i, session);
  const got = await agent.call('run', want.args);
  assert.ok(got.output === want.output, `${JSON.stringify(want.args).slice(0, 200)} has answered ${JSON.stringify(got).slice(0, 2000)}`);
  assert.equal(got.exit_code, want.code);
  assert.equal(got.running, false);
  assert.equal(got.notifications, undefined);
  const end = want.code === 137 ? `was ended by signal ${got.signal}, exit code 137` : `exited with code ${want.code}`;
  const text = `${want.output}${want.output.endsWith('\n') ? '' : '\n'}[job ${got.job_id} ${end} after `;
  assert.ok(got.text.startsWith(text), `the text is ${got.text}, and not ${text}`);
}

// What is done by many calls at a time.
export async function runs(agent, count) {
  const workers = 8;
  await Promise.all(Array.from({ length: workers }, async (_, w) => {
    for (let i = 0; i < count / workers; i++) await one(agent, i, `shell${w}`);
  }));
  const all = await agent.call('list', { all: true });
  assert.equal(all.jobs.length, count);
  assert.equal(all.sessions.length, workers);
  assert.deepEqual((await agent.call('list')).jobs, []);
}

// A client that asks first what the server speaks is told of the last revision, and one
// that knows of none without sessions has the last one with them.
export async function revisions({ sdk, over }) {
  for (const [mode, want] of [['auto', known.v2], ['legacy', known.v1]]) {
    const agent = await connect({ sdk, over, mode, name: mode });
    assert.equal(agent.revision, want);
    const r = await agent.call('run', { command: 'echo $((6 * 7))' });
    assert.deepEqual([r.output, r.exit_code], ['42\n', 0]);
    await agent.leaves();
  }
}

// What a command is given at its start it gets, also when its call waits for it no more.
export async function standardInput(agent) {
  const text = 'a line of input\n'.repeat(16_000);
  const sum = createHash('sha256').update(text).digest('hex');
  const slow = await agent.call('run', { command: 'sleep 0.5; sha256sum', stdin: text, wait_seconds: 0.1 });
  assert.equal(slow.running, true);
  const behind = await agent.call('run', { command: 'sha256sum; exit 2', stdin: text, background: true });
  assert.deepEqual([(await agent.ended(slow.job_id)).output, (await agent.ended(behind.job_id)).output], [`${sum}  -\n`, `${sum}  -\n`]);
  const gate = fifo();
  const busy = agent.call('run', { command: `read x < ${gate.path}`, session: 'queue' });
  const queued = agent.call('run', { command: 'cat; exit 3', stdin: 'late\n', session: 'queue' });
  await gate.open();
  assert.equal((await busy).exit_code, 0);
  const r = await queued;
  assert.deepEqual([r.output, r.exit_code], ['late\n', 3]);
  await agent.call('stop', { session: 'queue' });
}

// What is refused is a result that a model can read, and never an exception.
export async function refusals(agent) {
  for (const [tool, args, why] of [
    ['run', {}, 'invalid_params'],
    ['run', { command: 'true', cwd: '/no/such/place' }, 'cwd_not_found'],
    ['run', { argv: ['no-such-program'] }, 'no-such-program'],
    ['run', { command: 'true', wait_seconds: -1 }, 'wait_seconds'],
    ['run', { command: 5 }, 'command'],
    ['run', { comand: 'true' }, 'comand'],
    ['read', { job_id: 'none' }, 'not_found'],
    ['read', {}, 'job_id'],
    ['wait', { job_ids: ['none'] }, 'not_found'],
    ['wait', { until: 'match', pattern: '(' }, ''],
    ['write', { job_id: 'none', text: 'x' }, 'not_found'],
    ['stop', {}, 'job_ids'],
    ['promote', { job_id: 'none' }, 'not_found'],
    ['screen', { job_id: 'none' }, 'not_found'],
  ]) {
    if (tool === 'wait' && args.until) { // it needs something to wait for
      await agent.call('run', { command: 'sleep 1000', background: true, name: 'waited' });
    }
    assert.ok((await agent.refused(tool, args)).includes(why), `${tool} ${JSON.stringify(args)}`);
  }
  await agent.call('stop', { job_ids: ['waited'], grace_seconds: 0 });
}
