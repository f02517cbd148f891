package main

import (
	"cmp"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// The first programs of docs/api.md run as they stand there.
func TestAPIProgramsRun(t *testing.T) {
	t.Parallel()
	need.Program(t, "curl")
	need.Program(t, "python3")
	need.Node(t)
	text, err := os.ReadFile("../../docs/api.md")
	require.NoError(t, err)
	programs := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```(sh|python|js)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		programs[m[1]] = cmp.Or(programs[m[1]], m[2])
	}
	runtime := t.TempDir()
	require.NoError(t, os.Chmod(runtime, 0o700))
	d := serves(t, []string{"XDG_RUNTIME_DIR=" + runtime})
	for kind, c := range map[string]struct{ run, says string }{
		"sh":     {"exec bash program", `"outcome":"exited","exit_code":3,.*"text":"hi\\n"`},
		"python": {"exec python3 program", `^exited 3 hi`},
		"js":     {"exec node program", `^exited 3 hi`},
	} {
		require.NotEmpty(t, programs[kind], kind)
		require.NoError(t, os.WriteFile(d.file("program"), []byte(programs[kind]), 0o600))
		p := d.beside().bash(c.run).start()
		require.Regexp(t, c.says, p.rest(), kind)
		p.ends(0)
	}
}
