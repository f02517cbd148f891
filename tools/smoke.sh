#!/usr/bin/env bash
# Runs the main job of bin/troupe in directories of its own: a command without a daemon,
# then a daemon that starts, runs a job, shows its output and ends. Nothing is left.
set -euo pipefail
cd "$(dirname "$0")/.."
troupe=$PWD/bin/troupe
dir=$(mktemp -d)
export HOME=$dir XDG_RUNTIME_DIR=$dir/run XDG_STATE_HOME=$dir/state TROUPE_SOCKET='' TROUPE_STATE=''
unset TROUPE_SOCKET TROUPE_STATE
mkdir -m 700 "$dir/run"

daemon=
clean() {
	[[ -z $daemon ]] || "$troupe" shutdown >/dev/null 2>&1 || true
	rm -rf "$dir"
}
trap clean EXIT

fail() {
	echo "smoke: $1" >&2
	exit 1
}

# says runs a command and checks its exit status and stdout.
says() {
	local status=$1 want=$2 got rc=0
	shift 2
	got=$("$@") || rc=$?
	[[ $rc == "$status" && $got == "$want" ]] || fail "$*: exit status $rc and output '$got', want $status and '$want'"
}

says 3 'hello from troupe' "$troupe" run 'echo hello from troupe; exit 3'
daemon=1
id=$("$troupe" run -b 'echo in the background; exit 4')
says 4 '' "$troupe" wait "$id"
says 0 'in the background' "$troupe" logs "$id"
"$troupe" shutdown >/dev/null
daemon=
echo "smoke: the main job works"
