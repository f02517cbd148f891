package shell

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/internal/test/need"
)

// A shell that finds no driver ends, and does not look for it again and again.
func TestAShellWithoutItsDriverEnds(t *testing.T) {
	for _, name := range []string{"bash", "dash", "sh", "zsh", "fish"} {
		t.Run(name, func(t *testing.T) {
			d := drivers()[name]
			if name == "zsh" || name == "fish" {
				need.Program(t, name)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			in := strings.NewReplacer("@DIR@", filepath.Join(t.TempDir(), "gone"))
			c := exec.CommandContext(ctx, d.argv[0])
			for _, word := range d.argv[1:] {
				c.Args = append(c.Args, in.Replace(word))
			}
			for _, v := range d.env {
				c.Env = append(c.Environ(), in.Replace(v))
			}
			var ended *exec.ExitError
			if err := c.Run(); ctx.Err() != nil || err != nil && !errors.As(err, &ended) {
				t.Errorf("it ended with %v, %v", err, ctx.Err())
			}
		})
	}
}
