package shelltext_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/shelltext"
)

// changeless are texts that change nothing in a plain bash.
var changeless = []string{
	":", "true", "false", "echo $HOME", `printf '%s\n' "$A"`, "cd /", "cd - >/dev/null", "command cd /", "builtin cd -- /", "ls -la | head -3", "A=2 env",
	"(export A=2)", "echo $(export A=2)", "echo `A=2`", "export A=2 | cat", "cat <(A=2)", "{ export A=2; } & wait", "if true; then echo x; fi", "while false; do :; done",
	"case $A in 1) echo;; esac", "[[ $A == 1 && -f /x ]]", `[ -n "$A" ]`, `[ "$A" = 1 ]`, `test -f /etc/passwd -a "$A" = 1`, "time true", "! true", "echo ${A:-x} ${#A} ${A%x} ${A/x/y}",
	"cat <<X\n$(A=2)\nX", "umask", "/bin/true", "./no/such", "~/no/such", "kill -0 $$", "command -v git", "false || echo x >/dev/null 2>&1", "env A=2 true", "", " ",
}

// changing are texts that change variables.
var changing = []string{
	"A=2", "export A=2", "export B=1", "unset A", "readonly C=1", "export -n A", "read A <<<2", "read -r A < <(echo 2)", "mapfile -t A <<<2", "printf -v A 2", "command printf -v A 2",
	"for A in 2; do :; done", "for ((A=2; A<2; A++)); do :; done", "select A in 2; do break; done <<<1", "echo $((A=2))", "((A=2))", "let A=2", "echo ${E:=2} ${A+${E:=3}}", "unset A; echo ${A=2}",
	"[[ A=2 -eq 2 ]]", "test -v 'x[A=2]'", "[ -v 'x[A=2]' ]", "x[A=2]=1", "echo ${x[A=2]}", "echo ${HOME:A=2:1}", "B='x[A=2]'; echo ${!B}", "[[ ${E:=2} ]]", ": {A}>/dev/null",
	"getopts a A -a", "wait -n -p A", "set -euo pipefail", "set -x", "if A=2; then :; fi", "true && A=2", "{ A=2; }", "A=2 :", "shift", "true; pushd / >/dev/null", "A+=1", "A=(1 2)",
	"[[ $(echo 1) == 1 ]] && A=2", `x='-v'; [ $x 'y[A=2]' ]`, `test "$x" 'y[A=2]'`,
}

// unknown are texts of which nothing can be told, or which make it so.
var unknown = []string{
	"f() { A=2; }", "function f { :; }", "alias ls='A=2'", "eval A=2", ". /dev/null", "source /dev/null", "trap 'A=2' EXIT", "$X", `"$X" y`, "`echo export` A=2", "{export,A=2}", "expor[t] A=2",
	"shopt -s lastpipe", "declare -x A=2", "declare -n A=B", "typeset A=2", "local x", "enable -n cd", "builtin eval A=2", "command . /dev/null", "command $X", "coproc cat", "exec true", "%1",
	"set -a", "set -o allexport", "set -H", "set -- a", "set $X", "set -o posix", "history -s A=2", "fc -s", "jobs -x export A=2", "complete -F f x", "bind x", "if true; then eval A=2; fi",
	"BASH_ALIASES[ls]='A=2'", "PS4='${B:=2}'", "~x/y", "'", "if", "((", "$'expor\\x74' A=2", "@(export) A=2", "exec {A}>/dev/null",
}

// stateChange is what a text may change in a plain bash.
func stateChange(text string) shelltext.StateChange {
	return shelltext.Examine(text, shelltext.BashGrammar, true).Change
}

func TestLeaves(t *testing.T) {
	for change, texts := range map[shelltext.StateChange][]string{shelltext.NoChange: changeless, shelltext.Variables: changing, shelltext.Anything: unknown} {
		for _, text := range texts {
			require.Equal(t, change, stateChange(text), "%q", text)
		}
	}
	require.Equal(t, shelltext.Anything, stateChange(strings.Repeat("# a long text\n", 1<<13)))
}

// state is what a bash must not have changed behind a text: all but the directory and
// what each command sets.
const state = `
__state() {
	set +x; unset -v OLDPWD; _= ; BASH_REMATCH=
	[[ $1 ]] && export -p | grep -v '^declare -x PWD='
	declare -F; alias; trap; shopt -p
	[[ $1 ]] && set +o | grep -v xtrace
	return 0
}
`

// What a bash finds unchanged behind a text that is said to change nothing, it finds so
// behind every way to say it; functions, aliases, traps and options also behind those
// that change variables.
func TestLeavesWhatBashFindsUnchanged(t *testing.T) {
	bash, err := exec.LookPath("bash")
	require.NoError(t, err)
	ways := []string{"%s", "if %s; then :; fi", "{ %s\n}", "true && %s", "%s; true", "while %s; do break; done", "case x in x) %s\n;; esac", "(%s\n)", "echo \"$(%s\n)\""}
	for _, text := range slices.Concat(changeless, changing, unknown) {
		for _, way := range ways {
			whole := strings.ReplaceAll(way, "%s", text)
			change := stateChange(whole)
			if change == shelltext.Anything {
				continue // such as "if" before a text that is none there
			}
			all := ""
			if change == shelltext.NoChange {
				all = "all"
			}
			cmd := exec.Command(bash, "--norc", "--noprofile", "-c", state+"exec 3>&1 >/dev/null 2>&1 </dev/null; __state "+all+" >&3; echo ---- >&3\n"+whole+"\n__state "+all+" >&3\n")
			cmd.Env = []string{"A=1", "E=", "HOME=/nonexistent", "PATH=/usr/bin:/bin"}
			cmd.Dir = "/"
			out, _ := cmd.Output()
			before, after, both := strings.Cut(string(out), "----\n")
			if !both || after == "" && before != "" {
				continue // the text has ended the shell
			}
			require.Equal(t, before, after, "%q was said to be %d", whole, change)
		}
	}
}
