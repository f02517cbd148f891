package shell_test

import (
	"strings"
	"testing"
)

func TestHostileCommandsOnATerminal(t *testing.T) {
	for _, name := range []string{"bash", "dash", "zsh", "sh"} {
		t.Run(name, func(t *testing.T) {
			needShell(t, name)
			r := newRig(t, onTerminals)
			for _, c := range append(probed(), more()...) {
				if c.only != "" && !strings.Contains(c.only, name[:1]) || strings.Contains(c.not, name[:1]) {
					continue
				}
				t.Run(c.name, func(t *testing.T) { r.play(t, name, c) })
			}
		})
	}
}
