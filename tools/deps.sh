#!/usr/bin/env bash
# Installs what tests may need: programs (internal/test/need/programs.txt), and
# what runs on Node (tools/node). Quick when it is there. Where it cannot be
# installed it says so, and fails only if TROUPE_TEST_STRICT=1 forbids tests to
# be skipped for it.
set -euo pipefail
cd "$(dirname "$0")/.."

lacking=
give_up() {
	echo "deps: $1; tests that need it are skipped" >&2
	lacking=1
}

missing=() packages=()
while read -r program debs; do
	if [[ -n $program ]] && ! command -v "$program" >/dev/null; then
		missing+=("$program")
		read -ra names <<<"$debs"
		packages+=("${names[@]}")
	fi
done <internal/test/need/programs.txt

as_root=()
apt() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -o DPkg::Lock::Timeout=120 -o Acquire::http::Timeout=30 "$@" </dev/null
}

# The lists of a fresh machine are empty: fetch them when the first try fails.
install_programs() {
	local what="missing: ${missing[*]} (Debian: ${packages[*]})"
	if ! command -v apt-get >/dev/null; then
		give_up "no apt-get on this machine; $what"
		return
	fi
	if ((EUID != 0)); then
		if ! sudo -n true 2>/dev/null; then
			give_up "not root, and sudo asks for a password; $what"
			return
		fi
		as_root=(sudo -n)
	fi
	echo "deps: installing ${packages[*]}"
	apt install -y --no-install-recommends "${packages[@]}" >/dev/null 2>&1 ||
		{ apt update && apt install -y --no-install-recommends "${packages[@]}" >/dev/null; } ||
		give_up "apt-get failed; $what"
}

# What is installed is as the lock file says, once npm has been through; the copy
# of that file beside it tells.
install_node() {
	local there=tools/node/node_modules
	if cmp -s tools/node/package-lock.json "$there/.installed"; then
		return
	fi
	if ! command -v npm >/dev/null; then
		give_up "no npm on this machine; missing: the packages of tools/node"
		return
	fi
	echo "deps: installing the packages of tools/node"
	if npm --prefix tools/node --loglevel=error ci </dev/null >/dev/null; then
		cp tools/node/package-lock.json "$there/.installed"
	else
		give_up "npm failed; missing: the packages of tools/node"
	fi
}

# Of some packages tests need single files and none of the dependencies. A line of unpacked.txt
# has the package, the SHA-512 of its tarball, and the files; the copy of the list beside them
# tells what is there.
install_unpacked() {
	local list=tools/node/unpacked.txt there=tools/node/node_modules name package hash files tarball at
	if [[ ! -d $there ]] || cmp -s "$list" "$there/.unpacked"; then
		return
	fi
	if ! command -v npm >/dev/null; then
		give_up "no npm on this machine; missing: the packages of $list"
		return
	fi
	at=$(mktemp -d)
	while read -r package hash files; do
		name=${package%@*}
		echo "deps: unpacking $package"
		tarball=$at/$(cd tools/node && npm --loglevel=error pack --pack-destination "$at" "$package" </dev/null) || tarball=
		if [[ -z $tarball ]] || ! sha512sum --check --status <<<"$hash  $tarball"; then
			give_up "cannot get $package, or it has another hash"
			rm -rf "$at"
			return
		fi
		rm -rf "${there:?}/$name"
		mkdir -p "$there/$name"
		# shellcheck disable=SC2086 # the files are words
		tar -xzf "$tarball" -C "$there/$name" --strip-components=1 $(printf 'package/%s ' $files)
	done <"$list"
	rm -rf "$at"
	cp "$list" "$there/.unpacked"
}

if ((${#missing[@]} != 0)); then
	install_programs
fi
install_node
install_unpacked
if [[ -z $lacking ]]; then
	echo "deps: everything that tests need is here"
elif [[ ${TROUPE_TEST_STRICT:-} == 1 ]]; then
	exit 1
fi
