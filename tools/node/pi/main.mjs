// The published RpcClient of pi at work with troupe:
//
//   node main.mjs RPC-CLIENT.js CLI-PATH
//
// Each step that is done is a line "NAME: N ms"; the first one that fails is a line "NAME: failed",
// its reason follows on stderr. cmd/troupe's tests run it in a directory of its own. The steps are
// those of the client's own tests that need no model, and those of its framing and of the output.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';

const [clientPath, cliPath] = process.argv.slice(2);
const { RpcClient } = await import(clientPath);

const client = new RpcClient({ cliPath, provider: 'none', model: 'none' });
const events = [];
const fifo = `${process.cwd()}/fifo`;
client.onEvent((event) => events.push(event));

async function step(name, does) {
  const began = performance.now();
  try {
    await does();
    console.log(`${name}: ${Math.round(performance.now() - began)} ms`);
  } catch (e) {
    console.log(`${name}: failed`);
    console.error(e);
    process.exit(1);
  }
}

// until waits for an event, also one that has come before.
async function until(is) {
  const found = events.find(is);
  if (found) return found;
  return new Promise((resolve) => {
    const off = client.onEvent((event) => {
      if (is(event)) {
        off();
        resolve(event);
      }
    });
  });
}

// output joins the events of the newest request.
function output() {
  const updates = events.filter((e) => e.type === 'bash_execution_update');
  const id = updates.at(-1)?.id;
  return updates.filter((e) => e.id === id).map((e) => e.delta).join('');
}

const alive = (pid) => {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
};

await step('starts', async () => {
  await client.start();
  await until((e) => e.type === 'ready');
});

await step('runs a command', async () => {
  const result = await client.bash('echo hello');
  assert.equal(result.output.trim(), 'hello');
  assert.equal(result.exitCode, 0);
  assert.equal(result.cancelled, false);
  assert.equal(result.truncated, false);
  assert.equal(result.fullOutputPath, undefined);
  assert.match(events.at(-1).id, /^req_\d+$/);
  assert.equal(output(), 'hello\n');
});

await step('shows the status and both streams', async () => {
  const result = await client.bash('echo out; echo err >&2; exit 3');
  assert.equal(result.exitCode, 3);
  assert.equal(result.output, 'out\nerr\n');
});

await step('keeps the shell', async () => {
  await client.bash('cd / && X=kept');
  assert.equal((await client.bash('echo $PWD $X')).output, `${process.cwd()} kept\n`);
});

await step('frames by LF alone', async () => {
  const text = 'a\u2028b\u2029c \u{1f600} "\\';
  const result = await client.bash(`printf '%s\\r\\n' '${text}'`);
  assert.equal(result.output, `${text}\n`);
  assert.equal(output(), result.output);
});

await step('cleans its text at every byte', async () => {
  for (const [input, want] of [
    ['\\033[31mERROR: file.py:1\\033[0m\\n', 'ERROR: file.py:1\n'],
    ['\\033]8;;https://example.com\\007link\\033]8;;\\007', 'link'],
    ['\\033[32m\u05e9\u05dc\u05d5\u05dd \u20ac \u{1f600}\\033[0m\\r\\n\\000', '\u05e9\u05dc\u05d5\u05dd \u20ac \u{1f600}\n'],
    ['visible\\033[31', 'visible'],
  ]) {
    const slowly = `printf '${input}' | while IFS= read -r -d '' -n 1 c || [ -n "$c" ]; do printf %s "$c"; done`;
    for (const command of [`printf '${input}'`, `(export LC_ALL=C; ${slowly})`]) {
      const result = await client.bash(command);
      assert.equal(result.output, want);
      assert.equal(output(), want);
    }
  }
});

await step('streams while the command runs', async () => {
  const running = client.bash('echo first; read -r line < ' + fifo + '; echo second');
  await until((e) => e.delta === 'first\n');
  await client.bash('echo go > ' + fifo);
  assert.equal((await running).output, 'first\nsecond\n');
});

await step('has the whole of a long output', async () => {
  const result = await client.bash('seq 200000');
  assert.equal(result.truncated, true);
  assert.equal(output().length, 1288895);
  assert.equal(readFileSync(result.fullOutputPath, 'utf8'), output());
  assert.ok(output().endsWith(result.output));
});

await step('takes a long command', async () => {
  const result = await client.bash(`: '${'x'.repeat(1 << 20)}'; echo done`);
  assert.equal(result.output, 'done\n');
});

await step('takes excludeFromContext', async () => {
  const response = await client.send({ type: 'bash', command: 'echo apart', excludeFromContext: true });
  assert.equal(response.success, true);
  assert.equal(response.data.output, 'apart\n');
});

await step('rejects what is not its work, by the id', async () => {
  await assert.rejects(client.getState(), /unknown command "get_state": use bash or abort_bash/);
  const response = await client.send({ type: 'foobar' });
  assert.equal(response.command, 'foobar');
  assert.equal(response.success, false);
  await assert.rejects(client.bash(7), /command is a number; it must be a string/);
  assert.equal((await client.bash('echo on')).output, 'on\n');
});

await step('runs commands side by side', async () => {
  const slow = client.bash('sleep 600');
  const all = await Promise.all([1, 2, 3, 4].map((n) => client.bash(`echo ${n}`)));
  assert.deepEqual(all.map((r) => r.output), ['1\n', '2\n', '3\n', '4\n']);
  await client.abortBash();
  const result = await slow;
  assert.equal(result.cancelled, true);
  assert.equal(result.exitCode, undefined);
});

await step('keeps the output of an aborted command', async () => {
  const running = client.bash('echo begun; sleep 600');
  await until((e) => e.delta === 'begun\n');
  await client.abortBash();
  assert.ok((await running).output.endsWith('begun\n'));
  assert.equal(output(), 'begun\n');
});

await step('aborts nothing', () => client.abortBash());

await step('rejects when the server is gone', async () => {
  const other = new RpcClient({ cliPath });
  await other.start();
  const lost = assert.rejects(other.bash('echo $$; sleep 600'), /exited/);
  const pid = await new Promise((resolve) => other.onEvent((e) => e.delta && resolve(Number(e.delta))));
  other.process.kill('SIGKILL');
  await lost;
  while (alive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
});

await step('stops at once, with its commands', async () => {
  client.bash('echo pid $$; sleep 600').catch(() => {});
  const event = await until((e) => e.delta?.startsWith('pid '));
  const child = client.process;
  const ended = once(child, 'exit');
  await client.stop();
  await ended;
  assert.equal(alive(Number(event.delta.slice(4))), false);
});

process.exit(0); // the client waits for requests that it has given up
