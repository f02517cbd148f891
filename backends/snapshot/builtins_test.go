package snapshot_test

import (
	"os/exec"
	"testing"

	"troupe/internal/test/need"
)

// overBuiltins is a start file that redefines what commands rely on, as users and version
// managers do.
const overBuiltins = `alias cd='echo no' test='echo no' mapfile=no .=no :=no pushd=no
export() { echo no; }
read() { echo no; }
command() { echo no; }
getopts() { echo no; }
umask() { echo no; }
true() { false; }
jobs() { echo no; }
let() { echo no; }
mine() { echo mine; }
alias also=mine
`

// trusted are commands that fail if one of these has another meaning.
const trusted = `set -u
cd /usr && . /dev/null && : && export X=1 && read -r line </proc/self/status && test -n "$line" && command -v cd && let x=1 && umask 22 && true && pwd
eval also
`

// shellAt returns the path of a shell; zsh may be absent.
func shellAt(t *testing.T, name string) string {
	t.Helper()
	if name == "zsh" {
		return need.Program(t, name)
	}
	path, err := exec.LookPath(name)
	check(t, err)
	return path
}

// A builtin is the shell's, whatever its user has put over it; a cd that fails under set -u, as
// of version managers, costs nothing else.
func TestFaultSnapshotKeepsTheBuiltins(t *testing.T) {
	for name, c := range map[string]struct {
		start string
		args  []string
		texts []string
	}{
		"bash": {".bashrc", []string{"--norc", "--noprofile"}, []string{
			"unalias cd\ncd() { [[ $_manager_state ]]; builtin cd \"$@\"; }\n", "enable -n test\ntest() { echo no; }\n", "unalias cd\ncd() { no_such_helper \"$@\" && builtin cd \"$@\"; }\n",
			"declare() { echo no; }\nreadarray() { echo no; }\nshopt() { echo no; }\nenable() { :; }\nalias enable=no\n",
		}},
		"zsh": {".zshrc", []string{"-f"}, []string{
			"unalias cd\ncd() { : $_manager_state; builtin cd \"$@\" }\n", "chpwd() { : $_manager_state }\n", "trap 'echo no' EXIT ZERR\nfalse\n", "disable test\nunalias test\nfunction test { echo no }\n",
			"TRAPEXIT() { echo no }\nprint() { echo no }\nwhence() { echo no }\nalias -- -='cd -' r=no\nIFS=e\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			path := shellAt(t, name)
			for _, more := range append(c.texts, "") {
				b := newBench(t, plenty)
				b.start(c.start, overBuiltins+more)
				file, text := b.made(path)
				if got := b.under(append([]string{path}, c.args...), file, trusted); got != "cd\n/usr\nmine\n" {
					t.Errorf("under %q: %q from\n%s", more, got, text)
				}
				lacks(t, text, "echo no", "=no", "_manager_state", "no_such_helper")
			}
		})
	}
}
