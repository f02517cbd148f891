#!/bin/sh
# Serves Claude Code, whose child this is. Its jobs are below the scope that ends.sh watches.
set -- "$PPID" "$@"
. "$(dirname "$0")/scope.sh"
shift
TROUPE_SCOPE=$scope exec troupe "$@"
