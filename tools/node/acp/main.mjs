// What an editor does with troupe as its agent:
//
//   node main.mjs all
//   node main.mjs hold true|false
//
// Each step that is done is a line "NAME: N ms"; the first one that fails is a line "NAME:
// failed", its reason follows on stderr. hold starts a command that does not end, in a terminal
// of the editor or as a job, and prints the processes. cmd/troupe's tests run it beside a daemon.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { Editor, its } from './editor.mjs';

const [what, where] = process.argv.slice(2);
const record = `${process.cwd()}/wire`;
const textOf = (raw) => raw.content.map((b) => b.text).join('');
const alive = (pid) => existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

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

async function jobs() {
  const { stdout } = await promisify(execFile)('troupe', ['ps', '-a', '-q']);
  return stdout.split('\n').length - 1;
}

// terminals are the steps of an editor that has some.
async function terminals() {
  const editor = await Editor.start({ terminal: true, record });
  const session = await editor.open();
  const last = () => [...editor.terminals.values()].at(-1);

  await step('initialize', async () => {
    assert.equal(editor.initialized.protocolVersion, 1);
    assert.deepEqual(editor.initialized.agentCapabilities.sessionCapabilities, { close: {} });
    assert.equal(editor.initialized.agentInfo.name, 'troupe');
  });
  await step('a terminal of the client', async () => {
    const { stopReason, updates, call } = await editor.prompt(session, '!echo hello; echo "$OMPCODE $PWD" >&2');
    assert.equal(stopReason, 'end_turn');
    assert.deepEqual(last().args.slice(0, 2), ['-l', '-c']);
    assert.match(last().command, /^\/.*sh$/);
    assert.equal(updates[0].sessionUpdate, 'tool_call');
    assert.deepEqual([updates[0].kind, updates[0].status], ['execute', 'in_progress']);
    assert.deepEqual(updates[0].content, [{ type: 'terminal', terminalId: last().id }]);
    assert.equal(updates[0].rawOutput.details.terminalId, last().id);
    assert.equal(call.status, 'completed');
    assert.equal(call.rawOutput.exitCode, 0);
    assert.match(textOf(call.rawOutput), new RegExp(`^hello\n1 ${process.cwd()}\n\nWall time`));
    await last().released;
    assert.equal(await jobs(), 0, 'it is no job');
  });
  await step('an exit code', async () => {
    const { call } = await editor.prompt(session, 'echo no; exit 3');
    assert.deepEqual([call.status, call.rawOutput.exitCode, call.rawOutput.isError], ['failed', 3, true]);
    assert.match(textOf(call.rawOutput), /Command exited with code 3$/);
  });
  await step('a signal', async () => {
    const { call } = await editor.prompt(session, 'kill -KILL $$');
    assert.deepEqual(last().exitStatus, { exitCode: null, signal: 'SIGKILL' });
    assert.deepEqual([call.status, call.rawOutput.exitCode], ['failed', 137]);
  });
  await step('the output so far', async () => {
    const running = editor.prompt(session, 'echo one; until [ -e gate ]; do sleep 0.05; done; echo two');
    const news = await editor.until(session, (u) => u.rawOutput?.content?.[0]?.text === 'one\n');
    assert.equal(news.rawOutput.details.terminalId, last().id);
    writeFileSync('gate', '');
    const { call } = await running;
    assert.match(textOf(call.rawOutput), /^one\ntwo\n\n/);
  });
  await step('a cut output', async () => {
    const { call } = await editor.prompt(session, 'seq 100000');
    assert.ok(last().truncated);
    assert.match(textOf(call.rawOutput), /\n100000\n\n[^]*kept only the end of the output/);
    assert.ok(textOf(call.rawOutput).length <= 51 << 10);
  });
  await step('a pipe into head ends', async () => {
    const { call } = await editor.prompt(session, 'yes | head -n 2');
    assert.equal(call.rawOutput.exitCode, 0);
    assert.match(textOf(call.rawOutput), /^y\ny\n\n/);
  });
  await step('a cancellation, while the output cannot be read', async () => {
    editor.stuck = new Promise(() => {});
    const running = editor.prompt(session, 'echo begun; exec sleep 600');
    await editor.until(session, (u) => u.rawInput?.command.startsWith('echo begun; exec'));
    await editor.tell(its.session.cancel, { sessionId: session });
    await last().exited; // before any reply to a read
    const { stopReason, call } = await running;
    editor.stuck = undefined;
    assert.equal(stopReason, 'cancelled');
    assert.equal(call.status, 'failed');
    await last().released;
    assert.ok(last().killed);
  });
  await step('a terminal that comes too late', async () => {
    let create;
    const asked = new Promise((done) => { editor.slow = () => new Promise((go) => { create = go; done(); }); });
    const running = editor.prompt(session, 'exec sleep 600');
    await asked;
    await editor.tell(its.session.cancel, { sessionId: session });
    assert.equal((await running).stopReason, 'cancelled');
    editor.slow = undefined;
    create();
    while (!last().killed) await new Promise((next) => setTimeout(next, 5)); // it is made meanwhile
    await last().released;
    await last().exited;
  });
  await step('two sessions at once', async () => {
    const other = await editor.open('/');
    const slow = editor.prompt(session, 'until [ -e other ]; do sleep 0.05; done; echo slow');
    const quick = await editor.prompt(other, `pwd; touch ${process.cwd()}/other`);
    assert.match(textOf(quick.call.rawOutput), /^\/\n/);
    assert.match(textOf((await slow).call.rawOutput), /^slow\n/);
    const ends = editor.prompt(other, 'sleep 600');
    await editor.until(other, (u) => u.rawInput?.command === 'sleep 600');
    assert.deepEqual(await editor.ask(its.session.close, { sessionId: other }), {});
    assert.equal((await ends).stopReason, 'cancelled');
  });
  await step('errors', async () => {
    await assert.rejects(editor.ask('session/load', { sessionId: session, cwd: '/', mcpServers: [] }), { code: -32601 });
    await assert.rejects(editor.ask(its.session.new, { cwd: 'here', mcpServers: [] }), { code: -32602 });
    await assert.rejects(editor.ask(its.session.new, { cwd: '/nowhere/at/all', mcpServers: [] }), { code: -32602 });
    await assert.rejects(editor.ask(its.session.prompt, { sessionId: session, prompt: [{ type: 'image', data: '', mimeType: 'image/png' }] }), { code: -32602 });
    await assert.rejects(editor.prompt('no such session', 'true'), { code: -32002 });
  });
  await step('the end of the input', async () => {
    const running = editor.prompt(session, 'exec sleep 700');
    await editor.until(session, (u) => u.rawInput?.command === 'exec sleep 700');
    const { pid } = last().process;
    assert.equal(await editor.end(), 0);
    assert.equal((await running).stopReason, 'cancelled');
    await last().exited;
    await last().released;
    assert.ok(!alive(pid));
  });
}

// deadline needs a shorter timeout than the 300 s of a prompt.
async function deadline() {
  writeFileSync('short.toml', '[omp]\nmax_timeout = "1s"\n');
  const editor = await Editor.start({ terminal: true, env: { TROUPE_CONFIG: `${process.cwd()}/short.toml` }, record });
  const session = await editor.open();
  await step('a timeout', async () => {
    const { stopReason, call } = await editor.prompt(session, 'echo begun; exec sleep 600');
    const [terminal] = editor.terminals.values();
    assert.equal(stopReason, 'end_turn');
    assert.deepEqual([call.status, call.rawOutput.details.timedOut], ['failed', true]);
    assert.match(textOf(call.rawOutput), /^begun\n\nCommand timed out after 1 seconds$/);
    assert.match(call.content[1].content.text, /Command timed out after 1 seconds/);
    await terminal.exited;
    await terminal.released;
    assert.ok(terminal.killed);
    assert.equal(await editor.end(), 0);
  });
}

// others are the steps of an editor without terminals.
async function others() {
  const editor = await Editor.start({ terminal: false, record });
  const session = await editor.open();
  await step('a job', async () => {
    const running = editor.prompt(session, 'KEPT=yes; echo one; until [ -e job ]; do sleep 0.05; done; echo two >&2; (exit 4)');
    await editor.until(session, (u) => u.content?.[0]?.content?.text === '```\none\n```');
    assert.equal(await jobs(), 1);
    writeFileSync('job', '');
    const { stopReason, call } = await running;
    assert.equal(stopReason, 'end_turn');
    assert.deepEqual([call.status, call.rawOutput.exitCode], ['failed', 4]);
    assert.match(textOf(call.rawOutput), /^one\ntwo\n\n/);
    assert.match(call.content[0].content.text, /^```\none\ntwo\n/);
    assert.equal(editor.terminals.size, 0);
    assert.match(textOf((await editor.prompt(session, 'echo $KEPT')).call.rawOutput), /^yes\n/);
  });
  await step('a cancelled job', async () => {
    const running = editor.prompt(session, 'echo begun; exec sleep 600');
    await editor.until(session, (u) => u.content?.[0]?.content?.text === '```\nbegun\n```');
    await editor.tell(its.session.cancel, { sessionId: session });
    assert.equal((await running).stopReason, 'cancelled');
  });
  await step('the end of the input of a job', async () => {
    const running = editor.prompt(session, 'echo waits; exec sleep 600');
    await editor.until(session, (u) => u.content?.[0]?.content?.text === '```\nwaits\n```');
    assert.equal(await editor.end(), 0);
    assert.equal((await running).stopReason, 'cancelled');
  });
}

async function hold() {
  const editor = await Editor.start({ terminal: where === 'true' });
  const session = await editor.open();
  void editor.prompt(session, 'echo $$ >held; exec sleep 600');
  while (!existsSync('held') || readFileSync('held', 'utf8') === '') await new Promise((next) => setTimeout(next, 5));
  console.log(`${editor.process.pid} ${readFileSync('held', 'utf8').trim()}`);
}

if (what === 'hold') {
  await hold();
} else {
  await terminals();
  await deadline();
  await others();
}
