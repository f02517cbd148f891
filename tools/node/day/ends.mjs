// What ends before it is done: calls, clients, the daemon.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { connect } from './sdk.mjs';
import { alive, fifo, pidsIn, status, troupe } from './world.mjs';

// A tree that does not listen to TERM, and whose last process has left its group.
const tree = (pids, ready) => `trap '' TERM
d() { echo $BASHPID >> ${pids}
  if [ $1 -gt 0 ]; then ( d $(($1 - 1)) ) &
  else setsid sh -c 'echo $$ >> ${pids}; echo > ${ready}; exec sleep 1000' & fi
  sleep 1000 & echo $! >> ${pids}; wait; }
d 6`;

// A call that is cancelled ends its command with all that it has started.
export async function cancel(agent) {
  const [ready, pids, name] = [fifo(), resolve('tree'), `tree-${agent.name}`];
  const stop = new AbortController();
  const call = agent.ask('run', { command: tree(pids, ready.path), name, grace_seconds: 0.2, wait_seconds: 55 }, { signal: stop.signal });
  const ended = assert.rejects(call);
  await ready.passed();
  stop.abort();
  await ended;
  const end = await agent.ended(name);
  assert.deepEqual([end.outcome, end.exit_code, end.notifications], ['cancelled', 130, undefined]);
  assert.ok(pidsIn(pids).length >= 8);
  assert.deepEqual(pidsIn(pids).filter(alive), []);
}

// What a command waits for is asked of the user, unless it is a secret.
export async function elicitation({ sdk, over }) {
  const asked = [];
  const agent = await connect({
    sdk, over, name: 'asked', elicit: async ({ params }) => {
      asked.push(params.message);
      return asked.length > 2 ? { action: 'decline' } : { action: 'accept', content: { input: `answer ${asked.length}` } };
    },
  });
  const twice = await agent.call('run', { command: "echo 'who?'; read a; echo \"got $a\"; read b; echo \"and $b\"; exit 5", interactive: true });
  assert.equal(twice.output, 'who?\ngot answer 1\nand answer 2\n');
  assert.equal(twice.exit_code, 5);
  assert.match(asked[0], /who\?/);
  const declined = await agent.call('run', { command: 'read a; echo "got $a"', interactive: true });
  assert.deepEqual([asked.length, declined.running, declined.waiting_for], [3, true, 'input']);
  const answer = await agent.call('write', { job_id: declined.job_id, text: 'late\n', wait_seconds: 55 });
  assert.deepEqual([answer.output, answer.exit_code], ['got late\n', 0]);
  const secret = await agent.call('run', { command: "read -r -s -p 'Password: ' x", pty: true });
  assert.deepEqual([asked.length, secret.running, secret.waiting_for], [3, true, 'secret']);
  assert.match(secret.text, /troupe attach/);
  await agent.leaves();
}

// A client sees its own jobs and no others'.
export async function others(agent) {
  const { job_id } = await agent.call('run', { command: 'sleep 1000', background: true });
  const other = await connect({ sdk: agent.sdk, over: agent.over, name: 'other' });
  assert.deepEqual((await other.call('list', { all: true })).jobs, []);
  assert.match(await other.refused('read', { job_id }), /not_found/);
  assert.match(await other.refused('stop', { job_ids: [job_id] }), /not_found/);
  await assert.rejects(other.client.readResource({ uri: `job://${job_id}` }));
  await other.leaves();
  await agent.call('stop', { job_ids: [job_id], grace_seconds: 0 });
}

// The daemon dies between two calls, and again while one waits.
export async function daemon(agent) {
  const [gate, begun, second] = [fifo(), fifo(), fifo()];
  await agent.call('run', { command: 'kept=here', session: 'lasting' });
  const { job_id } = await agent.call('run', { command: `read x < ${gate.path}; echo done; exit 6`, background: true });
  process.kill(Number(process.env.DAEMON_PID), 'SIGKILL');
  const there = await agent.call('list');
  assert.deepEqual(there.jobs.map((j) => [j.job_id, j.running]), [[job_id, true]]);
  await gate.open();
  const end = await agent.ended(job_id);
  assert.deepEqual([end.exit_code, end.output], [6, 'done\n']);
  assert.equal((await agent.call('run', { command: 'echo $kept', session: 'lasting' })).output, 'here\n');
  const call = agent.call('run', { command: `echo > ${begun.path}; read x < ${second.path}; echo done; exit 8`, wait_seconds: 55 });
  await begun.passed();
  process.kill(await nextDaemon(), 'SIGKILL');
  await second.open();
  const r = await call;
  assert.deepEqual([r.exit_code, r.output], [8, 'done\n']);
}

async function nextDaemon() {
  const { pid } = JSON.parse(await troupe('doctor', '--json')).daemon;
  assert.ok(pid > 1 && pid !== Number(process.env.DAEMON_PID), `the daemon is ${pid}`);
  return pid;
}

// victim is a client that begins jobs and does not leave by itself.
export async function victim({ sdk, over }) {
  const agent = await connect({ sdk, over, name: 'victim' });
  const ready = fifo();
  const sleep = (name, first = 'echo begun;') => ({ command: `echo $$ > victim-${name}; ${first} exec sleep 1000`, name });
  await agent.call('run', { ...sleep('behind'), background: true });
  await agent.call('run', { ...sleep('detached'), detach: true });
  void agent.ask('run', sleep('waited-for', `echo > ${ready.path};`));
  for (const job of ['behind', 'detached']) await agent.call('wait', { job_ids: [job], pattern: 'begun' });
  await ready.passed();
  console.log('ready');
}

// The jobs of a client that is killed end, but for what was detached. Over HTTP nobody
// sees that a client was killed; that its server was, the daemon does.
export async function killed({ sdk, over }) {
  const child = spawn(process.execPath, [process.argv[1], 'victim', sdk, over], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  assert.equal(line, 'ready');
  const [behind, detached, waitedFor] = ['behind', 'detached', 'waited-for'].map((name) => pidsIn(`victim-${name}`)[0]);
  assert.equal([behind, detached, waitedFor].filter(alive).length, 3);
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
  if (over === 'http') process.kill(Number(process.env.MCP_PID), 'SIGKILL');
  for (const job of ['behind', 'waited-for']) await status('wait', job);
  assert.deepEqual([behind, waitedFor].filter(alive), []);
  assert.ok(alive(detached));
  await troupe('stop', 'detached');
  assert.ok(!alive(detached));
}

// The jobs of a client that leaves end, but for what a person has kept.
export async function leaving(agent) {
  const command = 'echo $$ >> left; echo begun; exec sleep 1000';
  for (const name of ['left', 'taken']) await agent.call('run', { command, background: true, name });
  assert.ok((await agent.call('wait', { job_ids: ['left', 'taken'], pattern: 'begun' })).satisfied);
  await troupe('promote', 'taken');
  await agent.leaves();
  await status('wait', 'left');
  const state = async (name) => JSON.parse(await troupe('show', '--json', name)).state;
  assert.deepEqual([await state('left'), await state('taken')], ['finished', 'running']);
  await troupe('stop', 'taken');
  assert.deepEqual(pidsIn('left').filter(alive), []);
}
