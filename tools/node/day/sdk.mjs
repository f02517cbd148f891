// The two official SDKs behind one face: an agent that calls the tools of troupe mcp.

import assert from 'node:assert/strict';

// The revision that each SDK must agree on with the server.
export const revisions = { v1: '2025-11-25', v2: '2026-07-28' };

const load = {
  async v1() {
    const at = '@modelcontextprotocol/sdk';
    const [{ Client }, stdio, http, types] = await Promise.all([
      import(`${at}/client/index.js`), import(`${at}/client/stdio.js`), import(`${at}/client/streamableHttp.js`), import(`${at}/types.js`),
    ]);
    return { Client, ...stdio, ...http, updated: types.ResourceUpdatedNotificationSchema, elicit: types.ElicitRequestSchema };
  },
  async v2() {
    const [all, stdio] = await Promise.all([import('@modelcontextprotocol/client'), import('@modelcontextprotocol/client/stdio')]);
    return { ...all, ...stdio, updated: 'notifications/resources/updated', elicit: 'elicitation/create' };
  },
};

// connect gives an agent. Over HTTP env names the server, over stdio it has one of its
// own. mode is how v2 finds the revision, elicit answers what the user is asked.
export async function connect({ sdk, over, name = 'day', mode = { pin: revisions.v2 }, elicit }) {
  const it = await load[sdk]();
  const capabilities = elicit ? { elicitation: { form: {} } } : {};
  const client = new it.Client({ name, version: '1' }, { capabilities, versionNegotiation: { mode } }); // v1 knows no modes
  if (elicit) client.setRequestHandler(it.elicit, elicit);
  const transport = over === 'stdio'
    ? new it.StdioClientTransport({ command: 'troupe', args: ['mcp'], env: process.env })
    : new it.StreamableHTTPClientTransport(new URL(process.env.MCP_URL), {
      requestInit: { headers: { Authorization: `Bearer ${process.env.MCP_TOKEN}`, 'Troupe-Client': name } },
    });
  const agent = new Agent({ sdk, over, name, client, transport, updated: it.updated });
  if (sdk === 'v1') { // it tells the revision to its transport only
    const set = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = (revision) => { agent.revision = revision; set?.(revision); };
  }
  await client.connect(transport);
  agent.revision ??= client.getNegotiatedProtocolVersion();
  agent.tools = (await client.listTools()).tools;
  return agent;
}

class Agent {
  constructor(fields) { Object.assign(this, fields); }

  // ask calls a tool, and gives its whole result. It throws only what the SDK does.
  ask(name, args = {}, options = {}) {
    const params = { name, arguments: args };
    return this.sdk === 'v1' ? this.client.callTool(params, undefined, options) : this.client.callTool(params, options);
  }

  // call is ask of what must succeed: its details, with the text and the output in it.
  async call(name, args = {}, options = {}) {
    const r = await this.ask(name, args, options);
    const text = r.content[0].text;
    assert.ok(!r.isError, `${name} ${JSON.stringify(args).slice(0, 300)}: ${text}`);
    assert.equal(r.structuredContent, undefined); // some clients show it instead of the text
    const details = r._meta['troupe/details'];
    const found = { ...details, text };
    if ('shown' in details) found.output = Buffer.from(text).subarray(0, details.shown).toString();
    if (name === 'screen') found.screen = text.split('\n');
    if (name === 'wait' && details.jobs.length === 1) {
      const job = text.slice(text.indexOf(`job ${details.jobs[0].job_id}`));
      found.jobs[0].output = job.slice(job.indexOf('\n') + 1).split(/^\[/m)[0];
    }
    return found;
  }

  // refused is ask of what must fail: the text, which is all there is.
  async refused(name, args) {
    const r = await this.ask(name, args);
    assert.equal(r.isError, true, `${name} ${JSON.stringify(args)} has answered ${JSON.stringify(r)}`);
    assert.equal(r.structuredContent, undefined);
    return r.content[0].text;
  }

  // ended waits for the end of a job, and gives what the wait says of it.
  async ended(job) {
    const w = await this.call('wait', { job_ids: [job], timeout_seconds: 55 });
    assert.equal(w.satisfied, true, w.text);
    return { ...w.jobs[0], notifications: w.notifications };
  }

  // hears gives what is told of a resource until want is among it.
  async hears(uri, want, meanwhile) {
    let heard;
    const done = new Promise((resolve) => { heard = resolve; });
    this.client.setNotificationHandler(this.updated, async (n) => {
      if (n.params.uri === uri && await want()) heard();
    });
    const subscription = this.sdk === 'v1' ? await this.client.subscribeResource({ uri }) : await this.client.listen({ resourceSubscriptions: [uri] });
    await meanwhile();
    await done;
    await (this.sdk === 'v1' ? this.client.unsubscribeResource({ uri }) : subscription.close());
  }

  // leaves ends the client as its SDK does it; over HTTP that ends a session only if it
  // is asked for.
  async leaves() {
    if (this.transport.sessionId) await this.transport.terminateSession();
    await this.client.close();
  }
}
