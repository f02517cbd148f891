// What the steps of a day need of the machine around the client.

import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

const exec = promisify(execFile);

// troupe is what a person types.
export async function troupe(...args) {
  return (await exec('troupe', args)).stdout;
}

// status is its exit status.
export async function status(...args) {
  return troupe(...args).then(() => 0, (e) => e.code);
}

let made = 0;

// fifo holds a command until it is opened ("read x < PATH"), or tells when a command
// has come by ("echo > PATH").
export function fifo() {
  const path = resolve(`fifo-${process.pid}-${++made}`);
  execFileSync('mkfifo', ['-m', '600', path]);
  return { path, open: () => writeFile(path, '\n'), passed: () => readFile(path) };
}

// alive reports whether a process runs: one that has ended and was not reaped does not.
export function alive(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !stat.slice(stat.lastIndexOf(')') + 1).trim().startsWith('Z');
  } catch {
    return false;
  }
}

// pidsIn are the processes that have written themselves into a file.
export function pidsIn(path) {
  return readFileSync(path, 'utf8').trim().split('\n').map(Number);
}

// soak says whether this is a long run.
export const soak = process.env.TROUPE_SOAK === '1';
