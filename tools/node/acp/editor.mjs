// An editor that starts troupe as an agent, by the official SDK, and has terminals: processes
// of its own.

import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk';

const { agent: its, client: ours } = acp.methods;

// Terminal is a process whose output is kept from its end, as the protocol says.
class Terminal {
  constructor(id, { command, args, env, cwd, outputByteLimit }) {
    Object.assign(this, { id, command, args, env, limit: outputByteLimit, bytes: Buffer.alloc(0), truncated: false, reads: 0 });
    this.process = spawn(command, args, {
      cwd, env: { ...process.env, ...Object.fromEntries(env.map((v) => [v.name, v.value])) }, stdio: ['ignore', 'pipe', 'pipe'], detached: true,
    });
    for (const stream of [this.process.stdout, this.process.stderr]) stream.on('data', (data) => this.add(data));
    this.released = new Promise((done) => { this.release = done; });
    this.exited = new Promise((done) => {
      this.process.on('close', (exitCode, signal) => done(this.exitStatus = { exitCode, signal }));
      this.process.on('error', () => done(this.exitStatus = { exitCode: 127, signal: null }));
    });
  }

  add(data) {
    let bytes = Buffer.concat([this.bytes, data]);
    if (bytes.length > this.limit) {
      this.truncated = true;
      let from = bytes.length - this.limit;
      while ((bytes[from] & 0xc0) === 0x80) from++; // a whole character
      bytes = bytes.subarray(from);
    }
    this.bytes = bytes;
  }

  read() {
    this.reads++;
    return { output: this.bytes.toString(), truncated: this.truncated, exitStatus: this.exitStatus };
  }

  kill() {
    try {
      process.kill(-this.process.pid, 'SIGTERM');
    } catch (e) {
      if (e.code !== 'ESRCH') throw e;
    }
  }
}

export class Editor {
  terminals = new Map();
  updates = [];
  watchers = new Set();

  // start starts the agent and initializes it. record names a file for its lines.
  static async start({ terminal, env = {}, record }) {
    const editor = new Editor();
    editor.process = spawn('troupe', ['rpc', '--dialect', 'omp'], { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] });
    editor.ended = new Promise((done) => editor.process.on('exit', (code, signal) => done(code ?? signal)));
    const output = new TransformStream({ transform(chunk, to) { if (record) appendFileSync(`${record}.client`, chunk); to.enqueue(chunk); } });
    void output.readable.pipeTo(Writable.toWeb(editor.process.stdin)).catch(() => {});
    const input = Readable.toWeb(editor.process.stdout).pipeThrough(new TransformStream({
      transform(chunk, to) { if (record) appendFileSync(`${record}.agent`, chunk); to.enqueue(chunk); },
    }));
    editor.connection = editor.app().connect(acp.ndJsonStream(output.writable, input));
    editor.initialized = await editor.ask(its.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: { terminal }, clientInfo: { name: 'editor', version: '1' },
    });
    return editor;
  }

  app() {
    const terminal = (params) => {
      const t = this.terminals.get(params.terminalId);
      if (!t || t.gone) throw acp.RequestError.invalidParams({ terminalId: params.terminalId });
      return t;
    };
    return acp.client({ name: 'editor' })
      .onNotification(ours.session.update, ({ params }) => {
        this.updates.push(params);
        for (const watcher of this.watchers) watcher();
      })
      .onRequest(ours.terminal.create, async ({ params }) => {
        await this.slow?.(params);
        const t = new Terminal(`terminal-${this.terminals.size + 1}`, params);
        this.terminals.set(t.id, t);
        return { terminalId: t.id };
      })
      .onRequest(ours.terminal.output, ({ params }) => this.stuck ?? terminal(params).read())
      .onRequest(ours.terminal.waitForExit, ({ params }) => terminal(params).exited)
      .onRequest(ours.terminal.kill, ({ params }) => {
        const t = terminal(params);
        t.killed = true;
        t.kill();
        return {};
      })
      .onRequest(ours.terminal.release, ({ params }) => {
        const t = terminal(params);
        t.kill();
        t.gone = true;
        t.release();
        return {};
      });
  }

  ask(method, params) { return this.connection.agent.request(method, params); }

  tell(method, params) { return this.connection.agent.notify(method, params); }

  async open(cwd = process.cwd()) {
    return (await this.ask(its.session.new, { cwd, mcpServers: [] })).sessionId;
  }

  // prompt runs a command, and gives its tool call as the updates have made it.
  async prompt(sessionId, text) {
    const before = this.updates.length;
    const { stopReason } = await this.ask(its.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
    const updates = this.updates.slice(before).filter((u) => u.sessionId === sessionId).map((u) => u.update);
    return { stopReason, updates, call: Object.assign({}, ...updates) };
  }

  // until waits for an update.
  until(sessionId, is) {
    return new Promise((done) => {
      const look = () => {
        const found = this.updates.find((u) => u.sessionId === sessionId && is(u.update));
        if (found) {
          this.watchers.delete(look);
          done(found.update);
        }
      };
      this.watchers.add(look);
      look();
    });
  }

  // end closes the agent's input, and gives its exit status.
  async end() {
    this.process.stdin.end();
    return this.ended;
  }
}

export { its };
