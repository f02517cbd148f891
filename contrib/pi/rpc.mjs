// The cliPath of pi's RpcClient. It becomes `troupe rpc --dialect pi`, found by PATH or named by
// TROUPE_PROGRAM. What pi's client adds (--mode rpc, --provider, --model) is for a model: it is left out.
import process from "node:process";

process.execve("/usr/bin/env", ["env", process.env.TROUPE_PROGRAM || "troupe", "rpc", "--dialect", "pi"], process.env);
