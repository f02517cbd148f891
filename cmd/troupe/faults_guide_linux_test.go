package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// fileBlock finds a block whose first line is a comment with the name of its file.
var fileBlock = regexp.MustCompile("(?ms)^```\\w+\n((?://|#) (\\S+\\.\\w+)\n.*?)^```$")

// The page about faults, from an empty directory, word for word: its hosts in Go and TypeScript run
// each step once, whatever happens.
func TestTheFaultsGuide(t *testing.T) {
	t.Parallel()
	node, modules := need.Node(t)
	text := document(t, "docs/faults-guide.md")
	p := programFor(t, long).withGoCaches()
	t.Cleanup(func() { endJobs(p.dir, p.Env) })
	work := p.file("work")
	require.NoError(t, os.Mkdir(work, 0o700))
	for _, m := range fileBlock.FindAllStringSubmatch(text, -1) {
		require.NoError(t, os.WriteFile(filepath.Join(work, m[2]), []byte(m[1]), 0o600))
	}
	installsGo(t, work)
	installsTS(t, modules, work)
	for _, name := range []string{"typescript", ".bin"} { // as npm install --save-dev typescript
		require.NoError(t, os.Symlink(filepath.Join(modules, name), filepath.Join(work, "node_modules", name)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(work, "package.json"), []byte(`{"type":"module"}`), 0o600))
	p.Env = append(p.Env, "PATH="+strings.Join([]string{filepath.Dir(node), filepath.Join(modules, ".bin"), os.Getenv("PATH")}, ":"), "TROUPE_NO_DAEMON=", "npm_config_update_notifier=false", "npm_config_offline=true")
	p.replay(strings.Join(codeBlocks(text, "console"), ""))
}

// installsGo makes the library available in a directory, as go get does.
func installsGo(t *testing.T, dir string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for name, more := range map[string]string{"go.mod": "\nrequire troupe v0.0.0\n\nreplace troupe => " + root + "\n", "go.sum": ""} {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		own := strings.Replace(string(text), "module troupe\n", "module example.org/host\n", 1) + more
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(own), 0o600))
	}
}
