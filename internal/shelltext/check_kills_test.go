package shelltext

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var ours = Protected{Self: 500, Ancestors: []int{400, 1}}

// refused is what the gate says of a text, in one word with its subject, or "-".
func refused(text string) string {
	err := CheckKills(text, ours)
	var e *KillBlocked
	switch {
	case err == nil:
		return "-"
	case !errors.As(err, &e):
		return "another error"
	case e.Name != "":
		return string(e.Reason) + " " + e.Name
	case e.PID != 0:
		return fmt.Sprint(e.Reason, " ", e.PID)
	}
	return string(e.Reason)
}

func refuses(t *testing.T, table map[string]string) {
	t.Helper()
	for text, want := range table {
		assert.Equal(t, want, refused(text), "%q", text)
	}
}

func TestR204_NobodyIsKilledByName(t *testing.T) {
	refuses(t, map[string]string{
		"pkill node":                           "program pkill",
		"ls; killall -9 node":                  "program killall",
		"a & pkill x":                          "program pkill",
		"a |\npkill x":                         "program pkill",
		"a && /usr/bin/pkill -f x":             "program pkill",
		`p\kill x`:                             "program pkill",
		"sudo -n -u root pkill x":              "program pkill",
		"env A=1 nohup pkill x":                "program pkill",
		"timeout -k 1 5 pkill x":               "program pkill",
		"echo $(pkill x)":                      "program pkill",
		"while a; do killall x; done":          "program killall",
		"f() { pkill x; }; f":                  "program pkill",
		"bash -c 'pkill x'":                    "program pkill",
		"sudo sh -c \"a; killall x\"":          "program killall",
		"eval 'pkill x'":                       "program pkill",
		"trap 'pkill x' EXIT":                  "program pkill",
		"X=1 pkill x":                          "program pkill",
		"if pkill (":                           "program pkill", // no bash
		"echo 'a'; pkill x 'b' (((":            "program pkill",
		"a | sudo pkill x; (":                  "program pkill",
		"echo 'pkill x":                        "-",
		"echo pkill x":                         "-",
		"grep -r pkill .":                      "-",
		"man killall":                          "-",
		"which pkill; command -v killall":      "-",
		"echo 'a; pkill x'":                    "-",
		"git commit -m 'no pkill; killall'":    "-",
		"cat <<E\nkill the lights\npkill x\nE": "-",
		"ls pkill":                             "-",
		"./pkill.sh":                           "-",
		"pgrep x":                              "-",
		"echo 'a; pkill x' (":                  "-",
		"# pkill x":                            "-",
	})
}

func TestR204_KillNeedsANumber(t *testing.T) {
	refuses(t, map[string]string{
		"kill 123":                         "-",
		"kill -9 123 124":                  "-",
		"kill -s TERM 123":                 "-",
		"kill -TERM -- -123":               "-",
		"kill -KILL '123'":                 "-",
		"kill -l":                          "-",
		"/bin/kill --signal INT 12":        "-",
		"sudo kill 123":                    "-",
		"sudo -u kill":                     "-", // nothing is run
		"echo kill":                        "-",
		"kill -L; kill --table":            "-",
		"kill":                             "usage",
		"kill -9":                          "usage",
		"kill -s 9":                        "usage",
		"kill $PID":                        "usage",
		"kill $$":                          "usage",
		"kill -9 $(pgrep x)":               "usage",
		"kill `cat pid`":                   "usage",
		"kill %1":                          "usage",
		"pgrep x | xargs kill -9":          "usage",
		"pgrep x | xargs -n1 -I{} kill {}": "usage",
		"a && kill x (":                    "usage",
	})
}

func TestR204_OurProcessesAreProtected(t *testing.T) {
	refuses(t, map[string]string{
		"kill 500":           "self 500",
		"kill -9 7 500":      "self 500",
		"kill -- -500":       "self -500",
		"kill 0500":          "self 500",
		"kill -9 -1":         "self -1",
		"kill 400":           "ancestor 400",
		"kill -9 -- -400":    "ancestor -400",
		"kill 1":             "ancestor 1",
		"kill 5000":          "-",
		"kill -1 7":          "-",
		"kill 0":             "-", // the group of the job itself
		"bash -c 'kill 500'": "self 500",
		"kill 500; (":        "self 500",
	})
	assert.NoError(t, CheckKills("kill 7; kill 0", Protected{}))
	assert.NoError(t, CheckKills("kill 0", Protected{Self: 500, Ancestors: []int{0}}), "there is no process 0: it is the job's group")
}

func TestR204_TheTextsOfTheGate(t *testing.T) {
	for text, want := range map[string]string{
		"pkill x":   "pkill is not executed: it ends processes by name, whoever they belong to. Use kill <PID> instead.",
		"killall x": "killall is not executed: it ends processes by name, whoever they belong to. Use kill <PID> instead.",
		"kill":      "kill needs at least one numeric PID. Usage: kill [-<signal>] <PID>...",
		"kill 500":  "kill 500 is not executed: it would end this tool's own process.",
		"kill 400":  "kill 400 is not executed: it would end an ancestor of this tool's own process.",
		"${x@P}":    "${x@P} is not executed: this kind of expansion can run commands that nobody sees. Write the command out.",
	} {
		require.EqualError(t, CheckKills(text, ours), want)
	}
}

func TestR205_DangerousExpansionsAreNamed(t *testing.T) {
	refuses(t, map[string]string{
		`echo "${x@P}"`:                           "expansion ${x@P}",
		"X=${a[1]@P}":                             "expansion ${a[1]@P}",
		"cat <<E\n${x@P}\nE":                      "expansion ${x@P}",
		"echo ${!x}":                              "expansion ${!x}",
		"echo ${!x:-y}":                           "expansion ${!x:-y}",
		"echo ${!a[1]}":                           "expansion ${!a[1]}",
		"bash -c 'echo ${!x}'":                    "expansion ${!x}",
		"$(echo $(echo rm)) -rf x":                "expansion $(echo $(echo rm))",
		"`echo $(a)` x":                           "expansion `echo $(a)`",
		"${x:-$(echo rm)} -rf x":                  "expansion ${x:-$(echo rm)}",
		"sudo $(a $(b)) c":                        "expansion $(a $(b))",
		`eval "$(echo $(a))"`:                     `expansion "$(echo $(a))"`,
		`bash -c "$(cat <(b))"`:                   `expansion "$(cat <(b))"`,
		"echo ${x@P} (":                           "expansion ${x@P}", // no bash
		"echo ${!x} (":                            "expansion ${!x}",
		"$(a $(" + strings.Repeat("b", 90) + "))": "expansion $(a $(" + strings.Repeat("b", 74) + "...",
		"echo '${x@P}' ${x@Q} ${x}":               "-",
		"cat <<'E'\n${x@P}\nE":                    "-",
		"echo ${!pre*} ${!a[@]} $!":               "-",
		"echo $(basename $(pwd))":                 "-",
		"$(which python) x.py":                    "-",
		`eval "$(ssh-agent -s)"`:                  "-",
		`"$(dirname "$(readlink -f x)")/run.sh"`:  "-",
		`$(dirname $(readlink -f x))/run.sh`:      "-",
		"X=${X:-$(date)}; echo ${Y:=$(id)}":       "-",
	})
}

func TestBadInputHostileTextsPassTheGateInTime(t *testing.T) {
	for _, text := range hostileTexts() {
		took := fastest(func() { _ = CheckKills(text, ours) })
		assert.Less(t, took, 100*time.Millisecond, "%.20q", text)
	}
	took := fastest(func() { _ = CheckKills(strings.Repeat("kill 7;", 1<<20), ours) })
	assert.Less(t, took, 100*time.Millisecond)
}

func FuzzGate(f *testing.F) {
	for _, seed := range []string{"kill 1", "pkill x", "a; sudo -u x kill $X", "${!x}", "bash -c 'kill'", "`$(a $(b))`", "kill -- -", "command -v", "timeout", "'", "kil\x00l"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := CheckKills(text, ours)
		var e *KillBlocked
		if err != nil && (!errors.As(err, &e) || e.Error() == "" || len(e.Name) > maxPattern+3) {
			t.Fatalf("%#v", err)
		}
		if !strings.Contains(strings.NewReplacer(`\`, "", `"`, "", "'", "", "$", "", "\n", "", "\x00", "").Replace(text), "kill") && e != nil && e.Reason != GateExpansion {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
