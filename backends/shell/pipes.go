package shell

// A shell forgets the statuses of a pipeline when the text that had it is over. So a text
// whose last command is a pipeline is followed by a line, which reports them to the engine
// if one is not 0 (backends.LiveShell), and returns the status that the text had.
// Other texts are not touched: a pipeline starts processes, which cost more than that line.

// bashPipes holds for a shell whose driver is of a version before, too.
const bashPipes = `
{ __troupe_v=$? __troupe_q=("${PIPESTATUS[@]}"); if [[ ${#__troupe_q[@]} -gt 1 && ${__troupe_q[*]} == *[1-9]* ]] && ` +
	`{ builtin printf '\0%s pipe' "$__troupe_n"; builtin printf ' %s' "${__troupe_q[@]}"; builtin printf '\0'; } >>"${__troupe_f%/*}/st"; then :; fi; builtin return "$__troupe_v"; } 2>/dev/null`

const zshPipes = `
{ __troupe_v=$? __troupe_q=("${pipestatus[@]}"); if [[ ${#__troupe_q} -gt 1 && ${(j: :)__troupe_q} == *[1-9]* ]] && ` +
	`{ builtin printf '\0%s pipe' "$__troupe_n"; builtin printf ' %s' "${__troupe_q[@]}"; builtin printf '\0'; } >>"${__troupe_f%/*}/st"; then :; fi; builtin return "$__troupe_v"; } 2>/dev/null`
