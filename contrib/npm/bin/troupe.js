#!/usr/bin/env node
"use strict";
// Runs the program of the package for this platform, with the same arguments, files and signals.

const { existsSync } = require("node:fs");
const { constants } = require("node:os");
const { dirname, join } = require("node:path");

const platform = `${process.platform}-${process.arch}`;
const packageName = Object.keys(require("../package.json").optionalDependencies).find((name) => name.endsWith(`troupe-${platform}`));

function fail(message) {
  process.stderr.write(`troupe: ${message}\n`);
  process.exit(125);
}

// findProgram returns the path of the program in its package.
function findProgram() {
  if (packageName === undefined) {
    fail(`there is no program for ${platform}; troupe runs on Linux, on x64 and arm64`);
  }
  try {
    const path = join(dirname(require.resolve(`${packageName}/package.json`)), "bin", "troupe");
    if (existsSync(path)) {
      return path;
    }
  } catch {
    // the package is missing
  }
  fail(`the package ${packageName} is missing; install troupe again, without --omit=optional`);
}

// spawnProgram runs the program beside this process, for a Node that cannot become it. The
// terminal sends its own signals to both processes: they are not passed on twice.
function spawnProgram(path, args) {
  const { spawn } = require("node:child_process");
  const child = spawn(path, args, { stdio: "inherit", argv0: "troupe" });
  const byTerminal = ["SIGINT", "SIGQUIT"].filter(() => [0, 1, 2].some((fd) => require("node:tty").isatty(fd)));
  const passed = ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCONT"];
  for (const signal of passed) {
    process.on(signal, () => byTerminal.includes(signal) || child.kill(signal));
  }
  child.on("error", (error) => fail(`cannot run ${path}: ${error.message}`));
  child.on("exit", (status, signal) => {
    if (signal === null) {
      process.exit(status);
    }
    passed.forEach((name) => process.removeAllListeners(name));
    process.kill(process.pid, signal);
    setInterval(() => process.exit(128 + constants.signals[signal]), 1000); // a signal that ends nothing here
  });
}

const program = findProgram();
const args = process.argv.slice(2);
if (typeof process.execve === "function") {
  process.execve(program, ["troupe", ...args], process.env);
}
spawnProgram(program, args);
