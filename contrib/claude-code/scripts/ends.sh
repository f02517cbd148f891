#!/bin/sh
# Prints a line for each background job of this Claude Code process that ends, also over the end
# of the daemon. Each line wakes Claude. $1 is the directory of the plugin's data.
data=$1
set -- "$CLAUDE_PID"
. "$(dirname "$0")/scope.sh"
command -v troupe >/dev/null || { echo "troupe is not on the PATH: install it, and reload the plugins"; exit 1; }
mkdir -p "$data"
cursor=$data/ends-$1-$start
trap 'kill -0 "$1" 2>/dev/null || rm -f "$cursor"' EXIT # a reload goes on after it
trap 'exit 0' HUP INT TERM

# starts starts the daemon if there is none.
starts() { troupe mcp </dev/null >/dev/null 2>&1 || :; }
# field prints a text of what troupe doctor says of the daemon.
field() { printf '%s\n' "$doctor" | grep -o "\"$1\": *\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }

starts
doctor=$(troupe doctor --json 2>/dev/null | sed "s/.*\"daemon\"://" || :)
socket=$(field socket) other=$(field state)/daemon.sock
while kill -0 "$1" 2>/dev/null; do
  status=0
  troupe events -f --ends --background --scope "$scope" --cursor "$cursor" 2>/dev/null || status=$?
  [ "$status" -ne 2 ] || { echo "this troupe is older than the plugin: update it, and reload the plugins"; exit 1; }
  # A daemon that was killed has left its socket. One that was shut down has removed it, and stays so.
  [ ! -S "$socket" ] && [ ! -S "$other" ] || starts
  sleep 1
done
