// Drives the jobs of an extension, that of pi or of opencode, against a real daemon, which is killed
// meanwhile. The arguments are the host and the folder of its extension.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createServer } from "node:net";
import path from "node:path";

// What the extension calls is written down.
const troupe = execFileSync("sh", ["-c", "command -v troupe"], { encoding: "utf8" }).trim();
fs.writeFileSync("shim", `#!/bin/sh\necho "$1" >> ${path.resolve("calls")}\nexec ${troupe} "$@"\n`, { mode: 0o700 });
process.env.TROUPE_PROGRAM = path.resolve("shim");

const [host, extension] = process.argv.slice(2);
const { Daemon, Jobs, endOf } = await import(path.join(extension, "jobs.ts"));

const ends: string[] = [];
let ended = () => {};
const scope = `${host}/${process.pid}`;
const onEnd = (job: { command: string; outcome: string; exit_code: number }) => {
  ends.push(`${job.command}: ${job.outcome} ${job.exit_code}`);
  ended();
};
let max_output: object | undefined; // of each command
const jobs = host === "pi" ? jobsOfPi() : jobsOfOpencode();

function jobsOfPi() {
  class Bounded extends Jobs {
    async hold() {
      const client = await super.hold();
      const spawn = client.spawn.bind(client);
      client.spawn = (command: string, options: object) => spawn(command, { ...options, ...(max_output && { max_output }) });
      return client;
    }
  }
  return new Bounded(scope, onEnd);
}

function jobsOfOpencode() {
  class Bounded extends Daemon {
    ask(request: { path: string; body: object }) {
      return super.ask(request.path === "/v1/jobs" ? { ...request, body: { ...request.body, max_output } } : request);
    }
  }
  return new Jobs(new Bounded(), scope, onEnd);
}

const { operations } = host === "pi" ? await import(path.join(extension, "operations.ts")) : { operations: ofOpencode };

/** Runs commands with the jobs of opencode, as the operations of pi do. */
function ofOpencode(_: unknown, terms: object) {
  const exec = async (command: string, cwd: string, { onData, ...options }: { onData: (data: Buffer) => void; signal?: AbortSignal }) => {
    const job = await jobs.run({ command, cwd, onData, ...options, ...terms });
    if (job.state !== "finished") {
      onData(Buffer.from(`[troupe] ${job.id} runs in the background.`));
    } else if (job.exit_code === null) {
      throw new Error(endOf(job));
    }
    return { exitCode: job.exit_code };
  };
  return { exec };
}

/** Runs a command with the operations of pi, and calls seen with the output so far. */
async function run(command: string, options = {}, terms = {}, seen = (_: string) => {}) {
  let out = "";
  const onData = (data: Buffer) => seen((out += data));
  const { exitCode } = await operations(jobs, terms).exec(command, process.cwd(), { onData, ...options });
  return { exitCode, out };
}

/** Resolves when so many background jobs have been reported. */
const reported = (n: number) => new Promise<void>((resolve) => (ended = () => ends.length >= n && resolve(), ended()));

// Statuses, output and environment are those of the command.
assert.deepEqual(await run("echo out; echo err >&2; exit 3"), { exitCode: 3, out: "out\nerr\n" });
if (host === "pi") {
  assert.deepEqual(await run("kill -9 $$"), { exitCode: 137, out: "" });
}
assert.deepEqual(await run('echo "$PWD $FOO"', { env: { PATH: process.env.PATH, FOO: "bar" } }), { exitCode: 0, out: `${process.cwd()} bar\n` });
assert.equal((await run("seq 200000")).out.length, 1288895);

// A timeout and an abort end the command; for pi they are the errors that it expects.
await assert.rejects(run("echo x; exec sleep 600", { timeout: 0.2 }), { message: host === "pi" ? "timeout:0.2" : "timed out" });
const abort = new AbortController();
await assert.rejects(run("echo y; exec sleep 600", { signal: abort.signal }, {}, () => abort.abort()), { message: host === "pi" ? "aborted" : /^cancelled/ });
if (host === "pi") {
  await assert.rejects(run("true", { signal: AbortSignal.abort() }), { message: "aborted" });
}

// What is not kept of an output is named in its place, and the rest is there.
max_output = { bytes: 100_000, policy: "elide" };
const { out } = await run("echo begin; head -c 30000000 /dev/zero | tr '\\0' x; echo end");
const notes = [...out.matchAll(/\n\[troupe\] (\d+) bytes of the output were not kept\n/g)];
assert.ok(notes.length > 0 && out.startsWith("begin\nx") && out.endsWith("xend\n"));
assert.equal(notes.reduce((sum, [note, bytes]) => sum + Number(bytes) - note.length, out.length), 30_000_010);
max_output = undefined;

// A process that stays does not hold the command.
assert.deepEqual(await run("sleep 600 & echo quick"), { exitCode: 0, out: "quick\n" });

// A kill of the daemon costs nothing: the run goes on with the next one, and no byte comes twice.
const kill = () => process.kill(JSON.parse(execFileSync("troupe", ["doctor", "--json"], { encoding: "utf8" })).daemon.pid, "SIGKILL");
let killed = false;
const survived = await run("echo before; read x < gate; echo after; exit 5", {}, {}, () => {
  if (!killed) {
    killed = true;
    kill();
    execFileSync("bash", ["-c", "echo > gate"]);
  }
});
assert.deepEqual(survived, { exitCode: 5, out: "before\nafter\n" });

// Background jobs are reported once, also one that has ended before its run was answered, and
// one whose end came while there was no daemon.
assert.match((await run("exit 4", {}, { background: true })).out, /^\[troupe\] j\d+ runs in the background\./);
await run("exec sleep 1", {}, { promoteAfter: 0.1 });
await run("read x < gate", {}, { background: true });
kill();
execFileSync("bash", ["-c", "echo > gate"]);
await reported(3);
assert.deepEqual(ends.toSorted(), ["exec sleep 1: exited 0", "exit 4: exited 4", "read x < gate: exited 0"]);

// A daemon that was shut down stays so: what lasts comes back to a stand-in, and starts none. The next command does.
await run("read x < gate", {}, { background: true });
const { socket } = JSON.parse(execFileSync("troupe", ["doctor", "--json"], { encoding: "utf8" })).daemon;
const calls = () => fs.readFileSync("calls", "utf8").split("\n").filter((verb) => verb !== "doctor").length;
const before = calls();
execFileSync("troupe", ["shutdown"], { stdio: "ignore" });
const back = new Set<string>();
await new Promise<void>((resolve) => {
  const standIn = createServer((one) => {
    one.on("error", () => {}).once("data", (head) => {
      back.add(/\/v1\/(\w+)/.exec(String(head))?.[1] ?? "");
      one.destroy();
      if (back.size === 2) {
        standIn.close();
        resolve();
      }
    });
  });
  standIn.listen(socket);
});
assert.deepEqual([...back].sort(), host === "pi" ? ["leases", "wait"] : ["events", "leases"]);
assert.equal(calls(), before);
assert.deepEqual(await run("echo next"), { exitCode: 0, out: "next\n" });
assert.ok(calls() > before);
execFileSync("bash", ["-c", "echo > gate"]);
await reported(4);

// Jobs stop with the scope.
await run("exec sleep 600", {}, { background: true });
jobs.close();
console.log("ok");
