package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The path is that of PATH if it leads to this program, by a link too: the link outlives a
// new version.
func TestProgramPath(t *testing.T) {
	t.Parallel()
	own, err := os.Executable()
	require.NoError(t, err)
	dir, other := t.TempDir(), t.TempDir()
	link := filepath.Join(dir, "troupe")
	require.NoError(t, os.Symlink(own, link))
	require.NoError(t, os.WriteFile(filepath.Join(other, "troupe"), []byte("#!/bin/sh\n"), 0o700))
	for path, want := range map[string]string{
		"":                  own,
		dir:                 link,
		".:/nowhere:" + dir: link,
		other + ":" + dir:   own, // PATH leads to another program
	} {
		m := &Main{Env: []string{"PATH=" + path}}
		got, err := ProgramPath(m)
		require.NoError(t, err)
		require.Equal(t, want, got, path)
		got, err = LastingProgramPath(m)
		require.NoError(t, err)
		require.Equal(t, want, got, path)
	}
}

// A path in a cache of npx and its like is known by its directories. The name of a directory of
// the user is not enough.
func TestProgramsOfACacheAreKnown(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/home/u/.npm/_npx/4f2a9c1d0b7e6a35/node_modules/@troupe/troupe-linux-x64/bin/troupe":                                        "npx",
		"/cache/_npx/4f2a/node_modules/troupe/node_modules/@troupe/troupe-linux-x64/bin/troupe":                                      "npx",
		"/home/u/.cache/pnpm/dlx/k3f9/19a2b-1f3/node_modules/.pnpm/@troupe+troupe-linux-x64@0.1.0/node_modules/@troupe/x/bin/troupe": "pnpm dlx",
		"/home/u/.local/share/pnpm/store/v3/tmp/dlx-4711/node_modules/.pnpm/x/node_modules/@troupe/x/bin/troupe":                     "yarn dlx or pnpm dlx",
		"/tmp/xfs-9a8b7c6d/dlx-4711/.yarn/unplugged/@troupe-troupe-linux-x64-npm-0.1.0/node_modules/@troupe/x/bin/troupe":            "yarn dlx or pnpm dlx",
		"/tmp/bunx-1000-troupe@latest/node_modules/@troupe/troupe-linux-x64/bin/troupe":                                              "bunx",
		"/usr/bin/troupe":           "",
		"/home/u/.local/bin/troupe": "",
		"/usr/lib/node_modules/troupe/node_modules/@troupe/troupe-linux-x64/bin/troupe":                             "",
		"/home/u/.local/share/pnpm/global/5/.pnpm/@troupe+troupe-linux-x64@0.1.0/node_modules/@troupe/x/bin/troupe": "",
		"/home/u/.bun/install/global/node_modules/@troupe/troupe-linux-x64/bin/troupe":                              "",
		"/home/u/src/dlx/bin/troupe":   "",
		"/home/u/dlx-tools/bin/troupe": "",
		"/home/u/bunx-1000/bin/troupe": "",
		"/home/u/bin/_npx":             "",
		"/home/u/my_npx/bin/troupe":    "",
	} {
		by, install := fetchedBy(path)
		require.Equal(t, want, by, path)
		require.Equal(t, want == "", install == "", path)
	}
}
