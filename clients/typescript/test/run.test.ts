import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { TroupeError } from "troupe-client";

import { world } from "./world.js";

test("a run has the record and the output of its command", async (t) => {
  const client = await (await world(t)).client();
  const result = await client.run("echo out; echo err >&2; exit 3");
  assert.equal(result.text, "out\nerr\n");
  assert.deepEqual([result.ok, result.outcome, result.exit_code, result.background], [false, "exited", 3, false]);
  assert.equal(result.cwd, process.cwd());
  const apart = await client.run("echo out; echo err >&2", { streams: "separate" });
  assert.deepEqual([apart.ok, apart.text, apart.stderr.toString()], [true, "out\n", "err\n"]);
});

test("a run tells how its command ended", async (t) => {
  const client = await (await world(t)).client();
  const end = async (...of: Parameters<typeof client.run>) => {
    const { ok, outcome, exit_code, signal, cause } = await client.run(...of);
    assert.equal(ok, false);
    return [outcome, exit_code, signal, cause?.by];
  };
  assert.deepEqual(await end("kill -KILL $$"), ["signaled", null, "KILL", undefined]);
  assert.deepEqual((await end("sleep 60", { timeout_ms: 100 }))[0], "timed_out");
  assert.deepEqual((await end("sleep 60", { idle_timeout_ms: 100 })).at(-1), "idle");
  const none = await client.run(["/no/such/program"]);
  assert.deepEqual([none.ok, none.outcome, none.error?.code], [false, "failed_to_start", "spawn_failed"]);
});

test("the output of a run is its bytes", async (t) => {
  const { client, dir } = await world(t);
  const { bytes } = await (await client()).run(["tee", "copy"], { cwd: dir });
  assert.equal(bytes.length, 0);
  const noise = await (await client()).run("head -c 300000 /dev/urandom | tee copy", { cwd: dir });
  assert.deepEqual(noise.bytes, await readFile(join(dir, "copy")));
});

test("an array is a program and its arguments", async (t) => {
  const client = await (await world(t)).client();
  const { text } = await client.run(["printf", "%s|", "$HOME *", "", "ü'\"\n"]);
  assert.equal(text, "$HOME *||ü'\"\n|");
});

test("a command has the environment of its policy", async (t) => {
  const client = await (await world(t)).client();
  process.env.TS_OF_CALLER = "caller";
  const show = "echo ${TS_OF_CALLER-none} ${TS_SET-none} ${HOME-none}";
  assert.equal((await client.run(show, { env: { TS_SET: "a b", OTHER: undefined } })).text, `caller a b ${process.env.HOME}\n`);
  assert.equal((await client.session("of-caller").run(show)).text, `caller none ${process.env.HOME}\n`);
  const home = (await client.run("echo $HOME", { environment: { policy: "allow" } })).text.trim();
  assert.notEqual(home, "");
  assert.equal((await client.run(show, { environment: { policy: "allow" } })).text, `none none ${home}\n`);
  assert.equal((await client.run(show, { environment: { policy: "clean", set: ["TS_SET=1"] }, env: { TS_SET: "2" } })).text, "none 2 none\n");
});

test("an output above the bound is an error with the record", async (t) => {
  const client = await (await world(t)).client();
  await assert.rejects(client.run("echo 0123456789; exit 4", { max_bytes: 10 }), (error) => {
    assert.ok(TroupeError.is(error, "too_large", "output"));
    assert.equal(error.record?.exit_code, 4);
    assert.ok(error.hint);
    return true;
  });
});

test("an output with a gap is an error with what was kept", async (t) => {
  const client = await (await world(t)).client();
  const elide = { max_output: { bytes: 1_000, policy: "elide" } } as const;
  await assert.rejects(client.run("seq 2000 >&2; seq 1 3; exit 4", { ...elide, streams: "separate" }), (error) => {
    assert.ok(TroupeError.is(error, "output_unavailable", "gap"));
    assert.equal(error.output?.toString(), "1\n2\n3\n");
    assert.match(error.stderr?.toString() ?? "", /^1\n2\n[^]*\n2000\n$/);
    assert.deepEqual([error.gaps, error.record?.exit_code], [error.record?.output.stderr?.elided, 4]);
    return true;
  });
  const { text } = await client.run("seq 100", elide); // a small output has none
  assert.equal(text.length, 292);
});

test("an aborted run ends its job", async (t) => {
  const { client, dir } = await world(t);
  const one = await client();
  const enough = new AbortController();
  let uid = "";
  const reason = new Error("enough");
  const started = (id: string) => {
    uid = id;
    void one.job(id).then(async (job) => {
      await job.until({ kind: "pattern", pattern: "begun" });
      enough.abort(reason);
    });
  };
  const run = one.run("echo $$ > pid; echo begun; exec sleep 600", { cwd: dir, signal: enough.signal, started });
  await assert.rejects(run, reason);
  const record = await (await one.job(uid)).record();
  assert.deepEqual([record.state, record.outcome], ["finished", "cancelled"]);
  const pid = Number(await readFile(join(dir, "pid"), "utf8"));
  assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
});

test("an aborted run with a key ends its job, unless another client waits for it", async (t) => {
  const client = await (await world(t)).client();
  const reason = new Error("enough");
  const aborted = async (key: string, command: string, joins: (uid: string) => Promise<unknown>) => {
    const enough = new AbortController();
    let uid = "";
    const started = (id: string) => {
      uid = id;
      void client.job(id).then(async (job) => {
        await job.until({ kind: "pattern", pattern: "begun" });
        await joins(id);
        enough.abort(reason);
      });
    };
    await assert.rejects(client.run(command, { key, grace_ms: 300, signal: enough.signal, started }), reason);
    return client.job(uid);
  };
  const job = await aborted("one", "trap '' TERM; echo begun; while :; do sleep 600; done", async () => {}); // KILL comes after the grace
  assert.deepEqual([job.was.state, job.was.outcome], ["finished", "cancelled"]);

  const command = "echo begun; exec sleep 600";
  let state = "";
  for (let tries = 1; state !== "running"; tries++) {
    assert.ok(tries <= 10); // no event tells that the other client waits: it may come too late
    const key = `two${tries}`;
    let other: Promise<string | null> | undefined;
    const shared = await aborted(key, command, async () => {
      other = client.run(command, { key, grace_ms: 300 }).then((result) => result.outcome);
      await client.run("true"); // a later run
    });
    state = shared.was.state;
    await shared.stop();
    assert.equal(await other, "cancelled");
  }
});

test("a signal that is aborted already starts nothing", async (t) => {
  const client = await (await world(t)).client();
  const reason = new Error("no");
  await assert.rejects(client.run("true", { signal: AbortSignal.abort(reason) }), reason);
  await assert.rejects(client.spawn("true", { signal: AbortSignal.abort(reason) }), reason);
  assert.deepEqual(await client.jobs(), []);
});

test("a promoted run returns while its job goes on", async (t) => {
  const client = await (await world(t)).client();
  const started = (uid: string) => void client.job(uid).then((job) => job.promote());
  const result = await client.run("read line; echo got $line", { stdin: "pipe", started });
  assert.deepEqual([result.background, result.ok], [true, false]);
  const job = await client.job(result.uid);
  await job.write("it\n");
  assert.equal((await job.wait()).exit_code, 0);
  assert.equal((await job.output()).toString(), "got it\n");
});

test("a run with a key that is known joins its job", async (t) => {
  const client = await (await world(t)).client();
  const [a, b] = await Promise.all([client.run("echo $RANDOM", { key: "k" }), client.run("echo $RANDOM", { key: "k" })]);
  assert.deepEqual([a.uid, a.text], [b.uid, b.text]);
  await assert.rejects(client.run("echo other", { key: "k" }), (error) => TroupeError.is(error, "conflict"));
});
