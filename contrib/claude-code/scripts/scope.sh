# The scope of the jobs of one Claude Code process: its number and the moment of its start, since
# numbers are used again. Sourced with the number in $1.
set -eu
PATH=$PATH:$HOME/.local/bin:/usr/local/bin
start=$(sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 20)
scope=claude/$1-$start
