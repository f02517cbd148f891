#!/usr/bin/env bash
# Runs go test on groups of packages, a group after the other, and reports with testsum.
# A group that begins with & runs beside those after it: its tests mostly wait.
#
#	tools/test.sh [-catalogue] [GO TEST FLAGS] [-- [&] [-C=DIR] [GO TEST FLAGS] PACKAGE...]...
set -euo pipefail
cd "$(dirname "$0")/.."

sum=() flags=(-json -count=1 -vet=off -timeout=20m)
while (($#)) && [[ $1 != -- ]]; do
	if [[ $1 == -catalogue ]]; then sum=("$1"); else flags+=("$1"); fi
	shift
done

# each calls a function with every group.
each() {
	local arg group=()
	for arg in "${@:2}" --; do
		if [[ $arg != -- ]]; then
			group+=("$arg")
		elif ((${#group[@]})); then
			"$1" "${group[@]}"
			group=()
		fi
	done
}

# list is go list of a group, which knows no flag of fuzzing.
list() {
	local arg dir=. known=()
	for arg in "$@"; do
		case $arg in
		-C=*) dir=${arg#-C=} ;;
		-run=* | -skip=* | -fuzz*=* | -parallel=* | '&') ;;
		*) known+=("$arg") ;;
		esac
	done
	go -C "$dir" list -e "${known[@]}"
}

# build compiles a group without linking it: none of its tests runs beside its compiler.
# What does not compile is reported when it runs.
build() {
	echo "building ${*: -1} …"
	list -test -export -v -f= "$@" 2>&1 | awk 'NR % 40 == 0 { print "building: " NR " packages compiled"; fflush() }' || true
}

# events runs a group and writes its events to descriptor 3, each line in one piece. It
# adds one for a failure of go test that no event explains.
events() {
	local status
	set +e
	go test "$@" "${flags[@]}" | awk '/"Action":"fail"/ { failed = 1 } { print; fflush() } END { exit failed }' >&3
	status=("${PIPESTATUS[@]}")
	set -e
	((status[0] == 0 || status[1] != 0)) || echo '{"Action":"fail","Package":"go test"}' >&3
}

run() {
	build "$@"
	if [[ $1 == '&' ]]; then events "${@:2}" & else events "$@"; fi
}

of=$(each list "$@" | wc -l)
exec 4>&1
{
	each run "$@"
	wait
} 3>&1 >&4 | .bin/testsum -of "$of" "${sum[@]}"
