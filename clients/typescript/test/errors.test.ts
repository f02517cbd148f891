import assert from "node:assert/strict";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { TroupeError, connect } from "troupe-client";

import { all, daemonOf, port, program, world } from "./world.js";

test("a refusal has a code, a reason, a sentence and a hint", async (t) => {
  const client = await (await world(t)).client();
  await assert.rejects(client.job("nope"), (error) => {
    assert.ok(error instanceof TroupeError && error instanceof Error);
    assert.deepEqual([error.name, error.code, error.reason], ["TroupeError", "not_found", "job"]);
    assert.match(error.message, /nope/);
    assert.ok(error.hint);
    return true;
  });
  await assert.rejects(client.run("true", { cwd: "relative" }), (error) => TroupeError.is(error, "invalid_params", "cwd"));
  await assert.rejects(client.run("true", { timeout: 5 } as object), (error) => TroupeError.is(error, "invalid_params", "timeout") && /timeout_ms/.test(error.hint ?? ""));
  await assert.rejects(client.run("true", { cwd: "/no/such" }).then((r) => Promise.reject(r.error)), { code: "cwd_not_found" });
});

test("without a daemon and a start of one it is an error", async (t) => {
  const { env } = await world(t);
  await assert.rejects(connect({ env, program, start: false }), (error) => TroupeError.is(error, "not_found", "daemon") && error.message.includes(env.XDG_RUNTIME_DIR!));
  await assert.rejects(connect({ env, program: "/no/such/troupe" }), (error) => TroupeError.is(error, "not_found", "program"));
  await assert.rejects(connect({ env, program, socket: `/${"x".repeat(200)}` }), (error) => TroupeError.is(error, "invalid_params", "socket"));
});

test("a daemon that cannot start says why", async (t) => {
  const { env } = await world(t);
  await mkdir(join(env.XDG_STATE_HOME!, "troupe"));
  await chmod(join(env.XDG_STATE_HOME!, "troupe"), 0o777);
  await assert.rejects(connect({ env, program }), (error) => TroupeError.is(error, "refused", "directory"));
});

test("the environment and the configuration say where the daemon is", async (t) => {
  const { env, client, dir } = await world(t);
  await mkdir(join(env.XDG_CONFIG_HOME!, "troupe"));
  const socket = join(dir, "own", "d.sock");
  await writeFile(join(env.XDG_CONFIG_HOME!, "troupe", "config.toml"), `socket = "${socket}"\nidle_exit = "1h"\n[limits]\nparallel = 7\n`);
  const configured = await client();
  const pid = await daemonOf(configured);
  assert.equal(await daemonOf(await client({ env: { ...env, TROUPE_SOCKET: socket, TROUPE_CONFIG: "" }, start: false })), pid);
  assert.equal(await daemonOf(await client({ socket, start: false })), pid);
  const other = { ...env, XDG_RUNTIME_DIR: join(dir, "elsewhere"), XDG_CONFIG_HOME: dir }; // the socket in the state directory leads there
  assert.equal(await daemonOf(await client({ env: other, start: false })), pid);
});

test("a port needs the token", async (t) => {
  const of = await world(t);
  const { url, token } = await port(t, of);
  await assert.rejects(connect({ url }), (error) => TroupeError.is(error, "refused", "token"));
  const client = await of.client({ url, token });
  assert.equal((await client.run("echo over a port")).text, "over a port\n");
  const job = await client.spawn(["cat"], { stdin: "pipe" });
  const at = await job.attach({ lease: "take" });
  const [text] = await Promise.all([all(at), at.write("typed").then(() => at.closeInput())]);
  assert.equal(text, "typed");
});

test("another server is named as such", async (t) => {
  const { env, dir } = await world(t);
  const socket = join(dir, "other.sock");
  const server = createServer((one) => one.on("error", () => {}).end("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"));
  await new Promise<void>((ready) => server.listen(socket, ready));
  t.after(() => server.close());
  await assert.rejects(connect({ env, socket, program }), /404 did not come from a troupe daemon/);
});
