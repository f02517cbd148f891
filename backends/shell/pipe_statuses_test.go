package shell_test

import (
	"slices"
	"testing"

	"troupe/backends/shell"
)

// A pipeline that hides a failure has its statuses in the result. Its own status, its output
// and what follows are as ever.
func TestAPipelineReportsItsStatuses(t *testing.T) {
	for _, name := range []string{"bash", "zsh"} {
		for _, o := range []shell.Options{{}, onTerminals} {
			t.Run(name, func(t *testing.T) {
				needShell(t, name)
				s := newRig(t, o).open(name)
				defer s.close()
				for _, c := range []struct {
					text, out string
					pipe      []int
					code      int
				}{
					{"false | true", "", []int{1, 0}, 0},
					{"echo a; (exit 3) | (exit 4) | cat", "a\n", []int{3, 4, 0}, 0},
					{"(exit 3) | (exit 5)", "", []int{3, 5}, 5},
					{"true | false", "", nil, 1},
					{"true | true", "", nil, 0},
					{"false | true; true", "", nil, 0},
					{"cd / && false | cat # end", "", []int{1, 0}, 0},
					{"cat <<E | false | cat\nbody\nE", "", []int{-1, 1, 0}, 0},
					{"false", "", nil, 1},
					{"set -o pipefail; false | true", "", []int{1, 0}, 1},
					{"IFS=1; set -u; false | true", "", []int{1, 0}, 1},
					{"false |\n  true\n", "", []int{1, 0}, 1},
					{"! false | true", "", []int{1, 0}, 0},
				} {
					out, f := s.say(c.text)
					if len(c.pipe) > 0 && c.pipe[0] < 0 && len(f.Pipe) > 0 { // it may be ended by SIGPIPE
						c.pipe[0] = f.Pipe[0]
					}
					if s.plain(out) != c.out || !slices.Equal(f.Pipe, c.pipe) || f.Status.Code != c.code || len(f.Flags) > 0 {
						t.Errorf("%q: %q, %+v; want %q, %v, %d", c.text, out, f, c.out, c.pipe, c.code)
					}
				}
			})
		}
	}
}
