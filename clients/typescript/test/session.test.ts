import assert from "node:assert/strict";
import { test } from "node:test";

import { TroupeError } from "troupe-client";

import { all, world } from "./world.js";

test("a live shell keeps its directory, variables and functions", async (t) => {
  const { client, dir } = await world(t);
  const one = await client();
  const dev = one.session("dev", { cwd: dir });
  assert.equal((await dev.run("pwd")).text, `${dir}\n`);
  const first = await dev.run("cd /; X=5; greet() { echo hello $X; }; false");
  assert.deepEqual([first.ok, first.exit_code, first.session], [false, 1, "dev"]);
  assert.equal((await dev.run("greet; pwd")).text, "hello 5\n/\n");
  assert.equal(await all((await dev.spawn("greet")).follow()), "hello 5\n");
  assert.equal((await one.session("other").run("echo ${X-none}; pwd")).text, `none\n${process.cwd()}\n`);
  assert.deepEqual((await dev.close()).reason !== undefined, true);
  const { sessions } = await one.request("get", "/v1/sessions", { query: { recent: false } });
  assert.deepEqual(sessions.map((s) => s.session).filter((name) => name === "dev"), []);
});

test("an open session with another plan is a conflict", async (t) => {
  const client = await (await world(t)).client();
  await client.session("s").run("true");
  await assert.rejects(client.session("s", { backend: "pipe" }).run("true"), (error) => TroupeError.is(error, "conflict"));
});

test("a session below a scope ends with it", async (t) => {
  const client = await (await world(t)).client();
  const of = client.session("s", { scope: "main/build", backend: "pipe" });
  const job = await of.spawn("exec sleep 600");
  assert.deepEqual([job.was.scope, job.was.session], ["main/build", "s"]);
  await client.request("delete", "/v1/scopes/{path}", { path: { path: "main/build" } });
  assert.equal((await job.wait()).outcome, "cancelled");
});

test("more commands than a live shell takes wait in the client", async (t) => {
  const client = await (await world(t)).client();
  const dev = client.session("dev");
  const results = await Promise.all(Array.from({ length: 60 }, (_, i) => dev.run(`echo ${i}`)));
  assert.deepEqual(results.map((one) => one.text), Array.from({ length: 60 }, (_, i) => `${i}\n`));
});
