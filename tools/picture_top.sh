#!/usr/bin/env bash
# Draws docs/top.svg: troupe top with some jobs, as a job on a terminal of another troupe. The
# picture is the screen of that job (troupe screen), as text in an SVG. Times, shares and sizes
# have fixed values, so that two runs draw the same picture.
#
#   tools/picture_top.sh [TROUPE [FILE]]     bin/troupe and docs/top.svg are the defaults
set -euo pipefail
cd "$(dirname "$0")/.."
troupe=${1:-bin/troupe}
[[ $troupe == /* ]] || troupe=$PWD/$troupe
file=${2:-docs/top.svg}

home=$(mktemp -d)
outer() { TROUPE_STATE=$home/outer TROUPE_SOCKET=$home/outer/daemon.sock "$troupe" "$@"; }
finish() {
	outer shutdown --stop-jobs --grace 0 >/dev/null 2>&1 || true
	"$troupe" shutdown --stop-jobs --grace 0 >/dev/null 2>&1 || true
	rm -rf "$home"
}
mkdir -m 700 "$home/bin" "$home/run" "$home/work"
ln -s "$troupe" "$home/bin/troupe"
export HOME=$home TMPDIR=$home XDG_RUNTIME_DIR=$home/run XDG_STATE_HOME=$home XDG_CONFIG_HOME=$home PATH=$home/bin:$PATH LC_ALL=C.UTF-8 TERM=xterm-256color NO_COLOR=
unset TROUPE_SCOPE TROUPE_SOCKET TROUPE_STATE TROUPE_CONFIG
trap finish EXIT
cd "$home/work"

troupe run -b --name web 'echo listening on port 8080; exec sleep 600' >/dev/null 2>&1
troupe run -b --pty --name deploy 'printf "deploy 1.4.2 to production? [y/n] "; read -r answer' >/dev/null
troupe run -b --name lint false >/dev/null
troupe run -b -s dev --name tests 'for i in 1 2 3; do echo "ok  package $i"; done; exec sleep 600' >/dev/null
troupe run -b --scope main/ci --name build 'echo compiling; exec sleep 600' >/dev/null
troupe wait lint >/dev/null 2>&1 || true
troupe wait --match '3' tests >/dev/null
troupe wait --input deploy >/dev/null
outer run -b --pty --env-policy caller --name top 'unset ${!TROUPE_*}; exec troupe top -a' >/dev/null 2>&1
outer wait --match 'quit' top >/dev/null
outer write top --keys '{down}'
# shows waits for a pattern on the screen.
shows() {
	until outer screen top | grep -q -- "$1"; do outer wait --quiet 100ms --timeout 1s top >/dev/null 2>&1 || true; done
}
shows 'waits for input'
shows '^deploy 1.4.2'
shows ' build .* [0-9]\.[0-9]  *[0-9.]* MiB '
outer screen top | awk '
	# cell puts a value at the right end of a column that has one.
	function cell(s, at, width, value) {
		if (substr(s, at, width) ~ /^ *(0 B)?$/) return s
		return substr(s, 1, at - 1) sprintf("%" width "s", value) substr(s, at + width)
	}
	function escape(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); return s }
	NR == 1 { sub(/ +by age$/, ""); sub(/CPU .*/, "CPU 0.0%, 4.8 MiB"); $0 = sprintf("%-72s  by age", $0) }
	/^──/ { rows = NR }
	NR > 2 && !rows && NF {
		status = substr($0, 20, 23)
		sub(/^running [0-9]+s/, "running 9s", status); sub(/^[0-9]+s,/, "9s,", status); sub(/, [0-9]+s ago/, ", 9s ago", status)
		$0 = substr($0, 1, 19) sprintf("%-23s", substr(status, 1, 23)) substr($0, 43)
		$0 = cell($0, 44, 5, "0.0"); $0 = cell($0, 50, 8, /^main  / ? "3.2 MiB" : "1.6 MiB")
		sub(/ \/[^ ]*$/, " /home/you")
	}
	{ line[NR] = $0 }
	END {
		width = 80 * 8.45 + 40; height = NR * 18 + 62
		printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", width, height, width, height
		print "<title>The screen of troupe top</title>"
		printf "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#161b22\"/>\n", width, height
		print "<circle cx=\"20\" cy=\"18\" r=\"6\" fill=\"#ff5f56\"/><circle cx=\"40\" cy=\"18\" r=\"6\" fill=\"#ffbd2e\"/><circle cx=\"60\" cy=\"18\" r=\"6\" fill=\"#27c93f\"/>"
		print "<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"14\" fill=\"#c9d1d9\" xml:space=\"preserve\">"
		for (i = 1; i <= NR; i++) {
			y = 38 + i * 18; style = ""
			if (line[i] == "") continue
			if (i == 1) style = " fill=\"#ffffff\" font-weight=\"bold\""
			if (i == 2 || i == rows) style = " fill=\"#8b949e\""
			if (i > 2 && i < rows && line[i] !~ /^ *j[0-9]/) style = " font-weight=\"bold\""
			if (i > 2 && i < rows && line[i] ~ /exited [1-9]/) style = " fill=\"#ff7b72\""
			if (i > 2 && i < rows && line[i] ~ /^ *j2 /) {
				printf "<rect x=\"16\" y=\"%d\" width=\"%d\" height=\"18\" fill=\"#c9d1d9\"/>\n", y - 14, width - 32
				style = " fill=\"#161b22\""
			}
			printf "<text x=\"20\" y=\"%d\"%s>%s</text>\n", y, style, escape(line[i])
		}
		print "</g>\n</svg>"
	}' >"$home/top.svg"
cd "$OLDPWD"
cp "$home/top.svg" "$file"
