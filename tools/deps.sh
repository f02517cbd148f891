#!/usr/bin/env bash
# Installs the programs that tests may need (supervision_test/need/programs.txt).
# Quick when they are there. Where they cannot be installed it says so, and fails
# only if TROUPE_TEST_STRICT=1 forbids tests to be skipped for them.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=() packages=()
while read -r program debs; do
	if [[ -n $program ]] && ! command -v "$program" >/dev/null; then
		missing+=("$program")
		read -ra names <<<"$debs"
		packages+=("${names[@]}")
	fi
done <supervision_test/need/programs.txt

if ((${#missing[@]} == 0)); then
	echo "deps: every program that tests need is here"
	exit
fi

give_up() {
	echo "deps: $1; missing: ${missing[*]} (Debian: ${packages[*]})" >&2
	if [[ ${TROUPE_TEST_STRICT:-} == 1 ]]; then
		exit 1
	fi
	echo "deps: tests that need them are skipped" >&2
	exit 0
}

command -v apt-get >/dev/null || give_up "no apt-get on this machine"
as_root=()
if ((EUID != 0)); then
	sudo -n true 2>/dev/null || give_up "not root, and sudo asks for a password"
	as_root=(sudo -n)
fi
apt() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -o DPkg::Lock::Timeout=120 -o Acquire::http::Timeout=30 "$@" </dev/null
}

# The lists of a fresh machine are empty: fetch them when the first try fails.
echo "deps: installing ${packages[*]}"
apt install -y --no-install-recommends "${packages[@]}" >/dev/null 2>&1 ||
	{ apt update && apt install -y --no-install-recommends "${packages[@]}" >/dev/null; } ||
	give_up "apt-get failed"
