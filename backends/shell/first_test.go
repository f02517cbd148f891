package shell_test

import (
	"testing"

	"troupe/backends/shell"
)

func TestFirst(t *testing.T) {
	for _, name := range []string{"bash", "dash"} {
		t.Run(name, func(t *testing.T) {
			s := newRig(t, shell.Options{}).open(name)
			for _, c := range []string{"echo hi", "false", "echo $?", "cd /tmp; X=1", "echo $X $PWD", "foo_not_there", "exit 7", "echo again $X $PWD"} {
				out, f := s.say(c)
				t.Logf("%s: %q %+v", c, out, f)
			}
			s.close()
		})
	}
}
