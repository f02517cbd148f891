package codelia

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/backends/disk"
	"troupe/internal/dialect"
	"troupe/messages"
)

func TestRulesLookAtDirectoriesAndWords(t *testing.T) {
	dir := t.TempDir()
	r := Rules{FS: disk.Files{}, Root: dir, Deny: []string{"mkfs", "/sbin/reboot"}, Wrap: []string{"nice", "-n", "5"}}
	permit, err := r.Allow(dialect.Intent{Text: "echo mkfs", Argv: []string{"sh", "-lc", "echo mkfs"}, Dir: dir, Origin: originAgent})
	require.NoError(t, err)
	require.Equal(t, dialect.Permit{Argv: []string{"nice", "-n", "5", "sh", "-lc", "echo mkfs"}, Backend: messages.BackendPipe}, permit)
	for text, names := range map[string]string{
		"mkfs x": "mkfs", "cd /; /usr/sbin/mkfs": "mkfs", "(mkfs)": "mkfs", "x=$(mkfs)": "mkfs", "if true; then mkfs; fi": "mkfs", "/sbin/reboot": "reboot", "mkfs (": "mkfs", "( mkfs": "mkfs",
	} {
		_, err := r.Allow(dialect.Intent{Text: text, Dir: dir})
		require.Equal(t, CodeInternal, code(t, err), text)
		require.ErrorContains(t, err, names)
	}
	_, err = r.Allow(dialect.Intent{Text: "true", Dir: "/"})
	require.Equal(t, CodeInvalidParams, code(t, err))
	_, err = Rules{FS: disk.Files{}, Root: dir + "/missing"}.Allow(dialect.Intent{Text: "true", Dir: dir})
	require.Equal(t, CodeInvalidParams, code(t, err))
}

// played is a policy that a test plays.
type played func(dialect.Intent) (dialect.Permit, error)

func (p played) Allow(i dialect.Intent) (dialect.Permit, error) { return p(i) }

// Both routes obey a policy, which decides the argv and the backend, or refuses.
func TestAPolicyDecidesHowACommandRuns(t *testing.T) {
	var asked []dialect.Intent
	r := newRig(t, func(o *Options) {
		o.Policy = played(func(i dialect.Intent) (dialect.Permit, error) {
			asked = append(asked, i)
			if i.Text == "no" {
				return dialect.Permit{}, errors.New("not today")
			}
			return dialect.Permit{Argv: append([]string{"env", "ORIGIN=" + i.Origin}, i.Argv...), Backend: messages.BackendPTY}, nil
		})
	})
	require.Equal(t, "ui_bang\r\n", r.exec("tty -s && echo $ORIGIN").Stdout, "it has a terminal")
	require.Equal(t, "agent\r\n", r.wait(r.start("tty -s && echo $ORIGIN").TaskID).Stdout)
	require.Equal(t, "agent", r.shows("shell", args{"command": "tty -s && echo $ORIGIN"})["stdout"])
	require.Equal(t, dialect.Intent{Text: "tty -s && echo $ORIGIN", Argv: []string{"/bin/bash", "-lc", "tty -s && echo $ORIGIN"}, Dir: r.dir, Origin: originBang}, asked[0])
	_, err := r.Exec(t.Context(), ExecParams{Command: "no"})
	require.EqualError(t, err, "not today")
	_, err = r.Start(t.Context(), StartParams{ExecParams: ExecParams{Command: "no"}})
	require.EqualError(t, err, "not today")
	require.Equal(t, "not today", r.fails("shell", args{"command": "no"}))
}
