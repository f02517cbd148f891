// Jobs that go on without their call.

import assert from 'node:assert/strict';
import { fifo, troupe } from './world.mjs';

// A person lets the agent go on while its call waits.
export async function promotion(agent) {
  const [begun, gate] = [fifo(), fifo()];
  const name = `build-${agent.name}`;
  const call = agent.call('run', { command: `echo begun; echo > ${begun.path}; read x < ${gate.path}; echo opened; exit 7`, name, wait_seconds: 55 });
  await begun.passed();
  await troupe('promote', name);
  const r = await call;
  assert.equal(r.running, true);
  assert.equal(r.exit_code, null);
  assert.ok(r.flags.includes('kept'));
  assert.match(r.note, /a person has moved it/);
  assert.match(r.text, /a person has moved it/);
  await gate.open();
  const end = await agent.ended(name);
  assert.equal(end.exit_code, 7);
  assert.equal(end.output, 'begun\nopened\n');
  assert.equal(end.notifications, undefined, 'the wait has told it already');
}

// The end of a job that went to the background is told once, with whatever comes next.
export async function notices(agent) {
  const gate = fifo();
  const job = await agent.call('run', { command: `read x < ${gate.path}; exit 9`, background: true });
  assert.equal(job.running, true);
  await gate.open();
  await troupe('wait', job.job_id).catch(() => {}); // it exits as the job did
  const told = [];
  while (told.length === 0) told.push(...(await agent.call('list')).notifications ?? []);
  assert.deepEqual(told.map((n) => [n.job_id, n.outcome, n.exit_code]), [[job.job_id, 'exited', 9]]);
  assert.equal((await agent.call('list')).notifications, undefined);
}

// A REPL is written to and answers, line by line.
export async function repl(agent) {
  const { job_id } = await agent.call('run', { command: 'python3 -q -i', interactive: true, background: true });
  assert.equal((await agent.call('wait', { job_ids: [job_id], until: 'input' })).satisfied, true);
  for (let i = 1; i <= 10; i++) {
    const r = await agent.call('write', { job_id, text: `${i === 1 ? 'x = 0\n' : ''}x += ${i}; print("x is", x)\n` });
    assert.ok(r.output.includes(`x is ${i * (i + 1) / 2}\n`), r.text);
    assert.ok(r.text.startsWith(r.output));
  }
  const end = await agent.call('write', { job_id, text: 'raise SystemExit(3)\n', wait_seconds: 55 });
  assert.equal(end.exit_code, 3, end.text);
}

// What only answers when it has all of its input is waited for.
export async function endOfInput(agent) {
  const { job_id } = await agent.call('run', { command: 'sort; sleep 0.1; exit 4', interactive: true, background: true });
  await agent.call('write', { job_id, text: 'b\nc\n', wait_seconds: 0 });
  const end = await agent.call('write', { job_id, text: 'a\n', eof: true, wait_seconds: 55 });
  assert.deepEqual([end.output, end.exit_code], ['a\nb\nc\n', 4], end.text);
}

// A terminal is typed to, and looked at.
export async function terminal(agent) {
  const { job_id } = await agent.call('run', { command: "stty -echo; printf 'a\\r\\nname? '; read -r x; echo \"it is $x\"; read -r y", pty: true, rows: 5, cols: 40, background: true });
  await agent.call('wait', { job_ids: [job_id], pattern: 'name' });
  const before = await agent.call('screen', { job_id });
  assert.deepEqual(before.screen.slice(0, 2).map((s) => s.trimEnd()), ['a', 'name?']);
  assert.deepEqual([before.row, before.col, before.rows, before.cols], [1, 6, 5, 40]);
  await agent.call('write', { job_id, keys: 'Ada{enter}', wait_seconds: 0 });
  await agent.call('wait', { job_ids: [job_id], pattern: 'it is Ada' });
  assert.match((await agent.call('screen', { job_id })).text, /it is Ada/);
  const stopped = await agent.call('stop', { job_ids: [job_id], grace_seconds: 0 });
  assert.equal(stopped.jobs[0].outcome, 'cancelled');
}

// One of many jobs ends, and the wait says which.
export async function anyOf(agent, many = 20) {
  const gates = Array.from({ length: many }, fifo);
  const jobs = await Promise.all(gates.map((g, i) => agent.call('run', { command: `read x < ${g.path}; exit ${i}`, background: true })));
  const job_ids = jobs.map((j) => j.job_id);
  const waits = agent.call('wait', { job_ids, any: true, timeout_seconds: 55 });
  await gates[13].open();
  const w = await waits;
  assert.equal(w.satisfied, true);
  assert.deepEqual(w.jobs.filter((j) => j.met).map((j) => [j.job_id, j.exit_code]), [[job_ids[13], 13]]);
  const short = await agent.call('wait', { job_ids: [job_ids[0]], timeout_seconds: 0.05 });
  assert.deepEqual([short.satisfied, short.timed_out, short.jobs[0].running], [false, true, true]);
  const stopped = await agent.call('stop', { all: true, grace_seconds: 0 });
  assert.equal(stopped.jobs.length, many - 1);
  assert.equal(stopped.survivors, undefined);
  assert.deepEqual((await agent.call('list')).jobs, []);
}

// Who has subscribed to a job hears of its end.
export async function subscription(agent) {
  const gate = fifo();
  const { job_id } = await agent.call('run', { command: `read x < ${gate.path}; exit 2`, background: true });
  const uri = `job://${job_id}`;
  const record = async () => JSON.parse((await agent.client.readResource({ uri })).contents[0].text);
  await agent.hears(uri, async () => (await record()).exit_code === 2, () => gate.open());
  assert.equal((await record()).outcome, 'exited');
}
