// A day of an agent that speaks with troupe mcp by an official SDK:
//
//   node main.mjs day v1|v2 stdio|http
//
// Each step that is done is a line "NAME: N ms"; the first one that fails is a line
// "NAME: failed", its reason follows on stderr, and the day is over. cmd/troupe's
// tests run it, and give it what it needs: a daemon, a server over HTTP, a directory.

import assert from 'node:assert/strict';
import { connect, revisions } from './sdk.mjs';
import * as ends from './ends.mjs';
import * as jobs from './jobs.mjs';
import * as output from './output.mjs';
import * as work from './work.mjs';
import { soak } from './world.mjs';

const [what, sdk, over] = process.argv.slice(2);
const at = { sdk, over };

async function step(name, does) {
  const began = performance.now();
  try {
    const result = await does();
    console.log(`${name}: ${Math.round(performance.now() - began)} ms`);
    return result;
  } catch (e) {
    console.log(`${name}: failed`);
    console.error(e);
    process.exit(1);
  }
}

// pagesOf is what is read of a long output: all of it, or in the short form of the day a
// twentieth, another one by each client.
function pagesOf() {
  const size = 200e6;
  if (soak) return { size, from: 0, to: size };
  const part = [0, 6, 13, 19][(sdk === 'v1' ? 0 : 2) + (over === 'stdio' ? 0 : 1)];
  return { size, from: part * size / 20, to: (part + 1) * size / 20 };
}

async function day() {
  const agent = await step('connects', async () => {
    const agent = await connect(at);
    assert.equal(agent.revision, revisions[sdk]);
    assert.equal(agent.tools.length, 8);
    assert.ok(agent.tools.every((t) => !t.outputSchema)); // a result is a text
    return agent;
  });
  if (sdk === 'v2') await step('other revisions', () => work.revisions(at));
  await step('runs', () => work.runs(agent, soak ? 4000 : 200));
  await step('standard input', () => work.standardInput(agent));
  await step('refusals', () => work.refusals(agent));
  await step('promotion by a person', () => jobs.promotion(agent));
  await step('notices', () => jobs.notices(agent));
  await step('a REPL', () => jobs.repl(agent));
  await step('the end of an input', () => jobs.endOfInput(agent));
  await step('a terminal', () => jobs.terminal(agent));
  await step('any of twenty', () => jobs.anyOf(agent));
  await step('a subscription', () => jobs.subscription(agent));
  await step('pages', () => output.pages(agent, pagesOf()));
  await step('bytes', () => output.bytes(agent));
  await step('progress', () => output.progress(agent));
  await step('cancel', () => ends.cancel(agent));
  await step('elicitation', () => ends.elicitation(at));
  await step('others', () => ends.others(agent));
  await step('the daemon is killed', () => ends.daemon(agent));
  if (over === 'stdio' || sdk === 'v1') await step('leaving', () => ends.leaving(agent)); // else nobody sees it
  await step('the client is killed', () => ends.killed(at));
}

await { day, victim: () => ends.victim(at) }[what]();
if (what === 'day') process.exit(0); // what is left open is of no interest
