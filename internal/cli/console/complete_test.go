package console

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"bin", "other", "home", "src"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, d), 0o700))
	}
	for name, mode := range map[string]os.FileMode{
		"bin/grep": 0o700, "bin/gresource": 0o700, "bin/great.txt": 0o600, "other/grep": 0o700, "bin/a b": 0o700,
		"src/main.go": 0o600, "src/.hidden": 0o600, "src/ma\x1b[31min": 0o600, "home/mine": 0o600,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, mode))
	}
	env := []string{"PATH=" + dir + "/bin:relative:" + dir + "/none:" + dir + "/other", "HOME=" + dir + "/home"}
	for command, want := range map[string][]string{
		"":                  nil,
		"gre":               {"grep ", "gresource "},
		"ls | gre":          {"grep ", "gresource "},
		"x && gres":         {"gresource "},
		"a":                 {},
		"ls sr":             {"src/"},
		"ls src/":           {"src/main.go "},
		"ls src/.":          {"src/.hidden "},
		"./src/m":           {"./src/main.go "},
		"cat ~/m":           {"~/mine "},
		"cat nowhere/m":     {},
		"cat <src/ma":       {"src/main.go "},
		"cat " + dir + "/h": {dir + "/home/"},
	} {
		require.ElementsMatch(t, want, complete(command, dir, env), "%q", command)
	}
	require.Equal(t, "ab", commonStart([]string{"abc", "abd"}))
	require.Equal(t, "", commonStart([]string{"é", "è"}))
}
