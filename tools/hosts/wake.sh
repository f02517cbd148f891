#!/bin/bash
# Shows that the end of a background job wakes an idle host: tools/hosts/wake.sh [HOST...]
#
# The hosts (claude, opencode, pi) are the published packages, installed in HOSTS_DIR. Each has a home
# of its own, loopback alone (as root), and a stand-in for a model. The last line of a host is
# "HOST woken", or the script ends with 1.
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$tools/../.." && pwd)
dir=${HOSTS_DIR:-$tree/bin/hosts}
for node in "$tree"/tools/node/node_modules/node-*/bin; do PATH=$node:$PATH; done # pi needs Node 22
declare -A package=([claude]=@anthropic-ai/claude-code@2.1.332 [opencode]=opencode-ai@1.18.33 [pi]=@earendil-works/pi-coding-agent@1.6.0)
work='begin the work'
job='"command":"sleep 2; echo linked; exit 5","background":true'

# alone runs a program with the home $home, and loopback alone if it may.
alone() {
  local with=(env -i HOME="$home" PATH="$home/bin:$dir/node_modules/.bin:$PATH" TERM=xterm LANG=C.UTF-8 TMPDIR="$home/tmp" XDG_RUNTIME_DIR="$home/run" "$@")
  if [ "$(id -u)" = 0 ]; then
    unshare -n bash -c 'ip link set lo up; exec "$@"' alone "${with[@]}"
  else
    "${with[@]}"
  fi
}

# woken waits until the model was woken.
woken() { timeout 60 bash -c "until grep -q WOKEN '$home/log' 2>/dev/null; do sleep 0.2; done"; }

run_claude() {
  mkdir -p "$home/work"
  cat > "$home/.claude.json" <<J
{"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": {"approved": ["0123456789-no-key-00"], "rejected": []},
 "projects": {"$home/work": {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}}
J
  node "$tools/model.mjs" 8390 "$home/log" mcp__plugin_troupe_troupe__run "{$job}" &
  export ANTHROPIC_API_KEY=0123456789-no-key-00 ANTHROPIC_BASE_URL=http://127.0.0.1:8390 ENABLE_TOOL_SEARCH=false CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
  cd "$home/work"
  tmux -L "$(basename "$home")" -f /dev/null new-session -d -x 120 -y 40 "claude --plugin-dir $tree/contrib/claude-code --allowedTools mcp__plugin_troupe_troupe__run"
  timeout 60 bash -c "until tmux -L $(basename "$home") capture-pane -p | grep -q '1 monitor'; do sleep 0.2; done"
  tmux -L "$(basename "$home")" send-keys "$work"
  timeout 10 bash -c "until tmux -L $(basename "$home") capture-pane -p | grep -q '$work'; do sleep 0.2; done"
  tmux -L "$(basename "$home")" send-keys Enter
  woken
}

run_opencode() {
  mkdir -p "$home/.config/opencode"
  cat > "$home/.config/opencode/opencode.json" <<J
{"provider": {"fake": {"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": {"baseURL": "http://127.0.0.1:8391/v1", "apiKey": "none"}, "models": {"m": {"name": "m", "tool_call": true}}}},
 "model": "fake/m", "small_model": "fake/m", "plugin": ["file://$tree/contrib/opencode/index.ts"]}
J
  export OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1
  node "$tools/model.mjs" 8391 "$home/log" bash "{$job}" &
  mkdir -p "$home/work"
  cd "$home/work"
  timeout 60 opencode mcp list > /dev/null 2>&1 || true # makes its database; a server in a new home can hang
  opencode serve --port 8392 > "$home/opencode.log" 2>&1 &
  local at=http://127.0.0.1:8392/session json='content-type: application/json'
  timeout 60 bash -c "until grep -q listening '$home/opencode.log'; do sleep 0.2; done"
  local session
  session=$(curl -sf -m 300 -H "$json" -d '{}' $at | jq -r .id)
  curl -sf -H "$json" -d "{\"parts\":[{\"type\":\"text\",\"text\":\"$work\"}]}" "$at/$session/message" > /dev/null
  woken
}

run_pi() {
  mkdir -p "$home/.pi/agent"
  cat > "$home/.pi/agent/models.json" <<J
{"providers": {"fake": {"baseUrl": "http://127.0.0.1:8393/v1", "api": "openai-completions", "apiKey": "none",
 "models": [{"id": "m", "name": "m", "input": ["text"], "contextWindow": 100000, "maxTokens": 4000}]}}}
J
  export PI_OFFLINE=1
  node "$tools/model.mjs" 8393 "$home/log" bash "{$job}" &
  mkfifo "$home/input"
  pi --mode rpc -e "$tree/contrib/pi/index.ts" --provider fake --model m --no-session < "$home/input" > "$home/pi.log" 2>&1 &
  exec 9> "$home/input"
  echo "{\"type\":\"prompt\",\"message\":\"$work\"}" >&9
  woken
  exec 9>&-
}

if [ "${1:-}" = in ]; then # in the surroundings of a host
  home=$HOME
  trap 'set +e; tmux -L "$(basename "$home")" kill-server 2>/dev/null; kill $(jobs -p) 2>/dev/null; troupe shutdown --stop-jobs 2>/dev/null' EXIT
  "run_$2"
  exit
fi

[ $# -gt 0 ] || set -- claude opencode pi
for host; do
  [ -e "$dir/node_modules/${package[$host]%@*}" ] || npm install --silent --no-fund --prefix "$dir" "${package[$host]}"
done
case " $* " in *" pi "*)
  npm install --silent --no-fund --prefix "$tree/clients/typescript"
  npm run --silent build --prefix "$tree/clients/typescript"
  npm install --silent --no-fund --omit=peer --prefix "$tree/contrib/pi" ;;
esac
case " $* " in *" opencode "*) [ -e "$tree/contrib/opencode/node_modules" ] || npm install --silent --no-fund --prefix "$tree/contrib/opencode" ;; esac
for host; do
  home=$(mktemp -d)
  mkdir -m 700 "$home/bin" "$home/tmp" "$home/run"
  cp "$tree/bin/troupe" "$home/bin/"
  alone bash "$tools/wake.sh" in "$host" || { echo "$host was not woken; see $home"; exit 1; }
  rm -rf "$home"
  echo "$host woken"
done
