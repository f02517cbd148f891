#!/usr/bin/env bash
# Draws docs/demo.svg: runs the commands below with a real troupe in a state directory of its
# own, as a job of another troupe. The picture is the cast of that job (troupe logs --cast), as
# text in an SVG. Times, sizes and process numbers have fixed values, so that two runs draw the
# same picture.
#
#   tools/picture.sh [TROUPE [FILE]]     bin/troupe and docs/demo.svg are the defaults
set -euo pipefail
cd "$(dirname "$0")/.."
troupe=${1:-bin/troupe}
[[ $troupe == /* ]] || troupe=$PWD/$troupe
file=${2:-docs/demo.svg}

home=$(mktemp -d)
outer() { TROUPE_STATE=$home/outer TROUPE_SOCKET=$home/outer/daemon.sock "$troupe" "$@"; }
finish() {
	"$troupe" shutdown --stop-jobs --grace 0 >/dev/null 2>&1 || true
	outer shutdown --stop-jobs --grace 0 >/dev/null 2>&1 || true
	rm -rf "$home"
}
mkdir -m 700 "$home/bin" "$home/run" "$home/work"
ln -s "$troupe" "$home/bin/troupe"
export HOME=$home TMPDIR=$home XDG_RUNTIME_DIR=$home/run XDG_STATE_HOME=$home XDG_CONFIG_HOME=$home PATH=$home/bin:$PATH LC_ALL=C.UTF-8
unset TROUPE_SCOPE TROUPE_SOCKET TROUPE_STATE TROUPE_CONFIG
trap finish EXIT
cd "$home/work"

cat >"$home/commands" <<'DEMO'
troupe run -s dev 'cd /tmp; greet() { echo "hello from $PWD"; }'
troupe run -s dev greet
troupe run -b --name web 'setsid sleep 60 & echo listening; exec sleep 60'
troupe wait --match listening web
troupe run --timeout 1s --name tests 'echo testing; sleep 60'; echo "status $?"
troupe ps -a
troupe stop web
troupe show web
DEMO
cat >"$home/demo" <<'DEMO'
unset ${!TROUPE_*}
while IFS= read -r command <&3; do
	printf '$ %s\n' "$command"
	eval "$command"
done 3<"$HOME/commands"
troupe shutdown --stop-jobs --grace 0 >/dev/null 2>&1
DEMO
outer run --env-policy caller --name demo 'exec bash "$HOME/demo" </dev/null' >/dev/null 2>&1
screen=$(outer logs --cast demo | jq -j 'arrays | select(.[1] == "o") | .[2]' | tr -d '\r')
sed -E \
	-e '/^troupe: started the daemon/d' \
	-e 's/running [0-9]+s/running 1s/; s/, [0-9]+s ago/, 0s ago/' \
	-e 's/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}/2026-01-02 15:04:05/' \
	-e 's/process  [0-9]+/process  4182/; s/isolation .*/isolation cgroup/' \
	-e 's/uid  [0-9A-Z]{26}/uid  01KAP4YB3Z2M0Q8T5J7N6R9WXC/' \
	-e 's/[0-9a-z.]+( +)[0-9.]+ MiB  setsid/0s\13.1 MiB  setsid/' \
	-e 's/used .*/used  1ms user, 2ms system, 19 MiB/' \
	-e "s|directory  .*|directory  /home/you|" <<<"$screen" |
	awk '
	function escape(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); return s }
	{ line[NR] = $0; if (length($0) > widest) widest = length($0) }
	END {
		width = int(widest * 8.45) + 40; height = NR * 18 + 62
		printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", width, height, width, height
		print "<title>A terminal that runs troupe</title>"
		printf "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#161b22\"/>\n", width, height
		print "<circle cx=\"20\" cy=\"18\" r=\"6\" fill=\"#ff5f56\"/><circle cx=\"40\" cy=\"18\" r=\"6\" fill=\"#ffbd2e\"/><circle cx=\"60\" cy=\"18\" r=\"6\" fill=\"#27c93f\"/>"
		print "<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"14\" fill=\"#c9d1d9\" xml:space=\"preserve\">"
		for (i = 1; i <= NR; i++) {
			y = 38 + i * 18
			if (line[i] ~ /^\$ /)
				printf "<text x=\"20\" y=\"%d\"><tspan fill=\"#7ee787\">$</tspan> <tspan fill=\"#ffffff\">%s</tspan></text>\n", y, escape(substr(line[i], 3))
			else if (line[i] != "")
				printf "<text x=\"20\" y=\"%d\">%s</text>\n", y, escape(line[i])
		}
		print "</g>\n</svg>"
	}' >"$home/demo.svg"
cd "$OLDPWD"
cp "$home/demo.svg" "$file"
