#!/usr/bin/env bash
# Draws docs/console.svg: types at a real troupe console in a tmux of its own, with a state
# directory of its own. The picture is the text of the screen in an SVG. Times have fixed values,
# so that two runs draw the same picture.
#
#   tools/console-picture.sh [TROUPE [FILE]]     bin/troupe and docs/console.svg are the defaults
set -euo pipefail
cd "$(dirname "$0")/.."
troupe=${1:-bin/troupe}
[[ $troupe == /* ]] || troupe=$PWD/$troupe
file=${2:-docs/console.svg}

home=$(mktemp -d)
screen() { tmux -u -S "$home/tmux" -f /dev/null "$@"; }
finish() {
	screen kill-server >/dev/null 2>&1 || true
	"$troupe" shutdown --stop-jobs --grace 0 >/dev/null 2>&1 || true
	rm -rf "$home"
}
mkdir -m 700 "$home/run" "$home/work"
export HOME=$home TMPDIR=$home XDG_RUNTIME_DIR=$home/run XDG_STATE_HOME=$home XDG_CONFIG_HOME=$home SHELL=/bin/bash TERM=xterm-256color LC_ALL=C.UTF-8
export GIT_CONFIG_NOSYSTEM=1
unset TMUX TROUPE_SCOPE TROUPE_SOCKET TROUPE_STATE TROUPE_CONFIG TROUPE_NO_PTY PI_NO_PTY
trap finish EXIT
cd "$home/work"
git init -q -b main .
printf 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println(greeting)\n}\n' >main.go

# types LINE... types lines; shows TEXT waits until the screen has a text.
types() {
	local line
	for line; do
		screen send-keys -t demo -l -- "$line"
		screen send-keys -t demo Enter
	done
}
shows() {
	local tries=600
	until screen capture-pane -p -t demo | grep -qF -- "$1"; do
		((tries-- > 0)) || { echo "the console does not show: $1" >&2 && screen capture-pane -p -t demo >&2 && exit 1; }
		sleep 0.05
	done
}

screen new-session -d -s demo -x 84 -y 30 "'$troupe' console --send messages 2>../log"
shows '── message'
types '!git status --short'
shows '1 result queued'
types '!grep -n func main.go'
shows '2 results queued'
types 'What is missing here?'
shows 'sent, with 2 results'
screen send-keys -t demo C-t
types 'less -~ main.go'
shows '│package main'
text=$(screen capture-pane -p -t demo | sed -E 's/after [0-9]+ ms/after 5 ms/; s/exit_code=([0-9]+), [0-9]+ ms/exit_code=\1, 5 ms/')

awk '
	function escape(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); return s }
	{ line[NR] = $0; if (length($0) > widest) widest = length($0) }
	END {
		width = int(widest * 8.45) + 40; height = NR * 18 + 62
		printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", width, height, width, height
		print "<title>troupe console</title>"
		printf "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#161b22\"/>\n", width, height
		print "<circle cx=\"20\" cy=\"18\" r=\"6\" fill=\"#ff5f56\"/><circle cx=\"40\" cy=\"18\" r=\"6\" fill=\"#ffbd2e\"/><circle cx=\"60\" cy=\"18\" r=\"6\" fill=\"#27c93f\"/>"
		print "<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"14\" fill=\"#c9d1d9\" xml:space=\"preserve\">"
		for (i = 1; i <= NR; i++) {
			fill = ""
			if (line[i] ~ /^(!|\$) /) fill = " fill=\"#ffffff\""
			else if (line[i] ~ /^✓/) fill = " fill=\"#7ee787\""
			else if (line[i] ~ /^✗/) fill = " fill=\"#ff7b72\""
			else if (line[i] ~ /^›|^  sent/) fill = " fill=\"#79c0ff\""
			if (line[i] != "")
				printf "<text x=\"20\" y=\"%d\"%s>%s</text>\n", 38 + i * 18, fill, escape(line[i])
		}
		print "</g>\n</svg>"
	}' <<<"$text" >"$home/console.svg"
cd "$OLDPWD"
cp "$home/console.svg" "$file"
