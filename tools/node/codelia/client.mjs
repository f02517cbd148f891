// A client of codelia's runtime on Node: it starts `troupe rpc` as codelia starts its own, and
// uses it as the terminal of codelia does. Each step prints its name and time.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { strict as assert } from 'node:assert';

const runtime = spawn('troupe', ['rpc', '--dialect', 'codelia'], { stdio: ['pipe', 'pipe', 'inherit'] });
const pending = new Map();
let ids = 0;
let confirm = () => assert.fail('nothing is to be confirmed');

createInterface({ input: runtime.stdout }).on('line', (line) => {
  const message = JSON.parse(line);
  if (message.method === 'ui.confirm.request') {
    send({ id: message.id, result: confirm(message.params) });
    return;
  }
  const { resolve, reject } = pending.get(message.id);
  pending.delete(message.id);
  message.error ? reject(Object.assign(new Error(message.error.message), message.error)) : resolve(message.result);
});

function send(message) {
  runtime.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function request(method, params) {
  const id = `node-${++ids}`;
  return new Promise((resolve, reject) => {
    pending.set(id, { resolve, reject });
    send({ id, method, params });
  });
}

async function step(name, run) {
  const began = Date.now();
  try {
    await run();
    console.log(`${name}: ${Date.now() - began} ms`);
  } catch (error) {
    console.log(`${name}: ${String(error.stack).replaceAll('\n', ' | ')}`);
    process.exit(1);
  }
}

await step('initialize', async () => {
  const { protocol_version, server, server_capabilities } = await request('initialize', {
    protocol_version: '0', client: { name: 'node', version: '1' }, ui_capabilities: { supports_confirm: true },
  });
  assert.deepEqual([protocol_version, server.name], ['0', 'troupe']);
  assert.deepEqual(server_capabilities, { supports_shell_exec: true, supports_shell_tasks: true, supports_shell_detach: true, supports_tool_call: true });
});

await step('shell.exec', async () => {
  const result = await request('shell.exec', { command: 'echo ü; echo err >&2; exit 3', timeout_seconds: 60 });
  assert.deepEqual([result.exit_code, result.signal, result.stdout, result.stderr], [3, null, 'ü\n', 'err\n']);
  assert.deepEqual(result.truncated, { stdout: false, stderr: false, combined: false });
});

await step('a hundred at a time', async () => {
  const all = Array.from({ length: 100 }, (_, i) => request('shell.exec', { command: `echo ${i}` }));
  assert.equal((await Promise.allSettled(all)).filter((r, i) => r.value?.stdout === `${i}\n` || r.reason?.code === -32001).length, 100);
});

await step('a long output and its cache', async () => {
  const { stdout, stdout_cache_id: ref_id } = await request('shell.exec', { command: 'seq 100000' });
  assert.match(stdout, /\[99840 lines omitted\]/);
  const { ok, result } = await request('tool.call', { name: 'tool_output_cache', arguments: { ref_id, offset: 49999, limit: 1 } });
  assert.ok(ok);
  assert.match(result, /^50000  50000\n/);
});

await step('a confirmed task, waited for and detached', async () => {
  confirm = ({ message }) => ({ ok: message.startsWith('echo begun;') });
  const { task_id, state } = await request('shell.start', { command: 'echo begun; exec sleep 600' });
  assert.equal(state, 'running');
  const wait = request('shell.wait', { task_id });
  await request('shell.status', { task_id });
  const detached = await request('shell.detach', { task_id }).catch(() => null);
  if (detached) {
    assert.deepEqual([await wait, detached], [detached, { task_id, detached: true, state: 'running' }]);
  }
  assert.equal((await request('shell.cancel', { task_id })).state, 'cancelled');
  assert.equal((await request('shell.list', {})).tasks[0].task_id, task_id);
  await assert.rejects(request('shell.start', { command: 'rm -rf x' }), { code: -32000, message: /not confirmed/ });
});

await step('errors', async () => {
  await assert.rejects(request('run.start', {}), { code: -32601 });
  await assert.rejects(request('shell.exec', { command: '' }), { code: -32602 });
});

await step('the end', async () => {
  const last = request('shell.exec', { command: 'sleep 1; echo last' });
  runtime.stdin.end();
  assert.equal((await last).stdout, 'last\n');
  assert.equal(await new Promise((resolve) => runtime.on('exit', resolve)), 0);
});
