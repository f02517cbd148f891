package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// tsClient is the folder of the TypeScript client.
const tsClient = "../../clients/typescript"

// tsTests is how many tests of the client run at least: a run that ends early has failed.
const tsTests = 60

// The TypeScript client works with the daemon: its package is packed, installed in a fresh
// directory, compiled strictly with its tests, and tested there.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	node, modules := need.Node(t)
	dir := consumesTS(t, modules)
	t.Run("README", func(t *testing.T) { readmeRuns(t, node, dir) })
	tests, err := filepath.Glob(filepath.Join(dir, "out", "*.test.js"))
	require.NoError(t, err)
	p := programFor(t, long)
	p.Path, p.Args = node, append([]string{"node", "--test", "--test-concurrency=2", "--test-reporter=" + filepath.Join(dir, "out", "reporter.mjs")}, tests...)
	troupe, err := exec.LookPath("troupe")
	require.NoError(t, err)
	p.Env = append(p.Env, "TROUPE_PROGRAM="+troupe)
	done := p.start().steps()
	p.ends(0)
	require.GreaterOrEqual(t, done, tsTests)
}

// readmeRuns runs the program at the beginning of the client's README as it stands there.
func readmeRuns(t *testing.T, node, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tsClient, "README.md"))
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```ts\n(.*?)```").FindSubmatch(text)
	require.NotNil(t, block)
	readme := filepath.Join(dir, "readme.mjs")
	require.NoError(t, os.WriteFile(readme, block[1], 0o600))
	p := program(t)
	p.Path, p.Args = node, []string{"node", readme}
	t.Cleanup(func() { endJobs(p.dir, p.Env) })
	require.Equal(t, "exited 3 hello\n\n1\n2\n3\n0\n", p.start().rest())
	p.ends(0)
}

// The types of the client are made from openapi.yaml, and what it is built with is what its
// tests use.
func TestTypeScriptClientIsUpToDate(t *testing.T) {
	t.Parallel()
	node, modules := need.Node(t)
	made := filepath.Join(t.TempDir(), "api.d.ts")
	runs(t, exec.Command(node, filepath.Join(modules, "openapi-typescript/bin/cli.js"), "../../internal/gateway/http/openapi.yaml", "-o", made))
	read := func(path string) string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(text)
	}
	if read(made) != read(filepath.Join(tsClient, "src/api.d.ts")) {
		t.Error("clients/typescript/src/api.d.ts is not that of openapi.yaml: run npm run types there")
	}
	require.Equal(t, read("../../LICENSE"), read(filepath.Join(tsClient, "LICENSE")))
	type packed struct {
		Private         bool
		Version         string
		Dependencies    map[string]string
		DevDependencies map[string]string
	}
	var client, tools packed
	require.NoError(t, json.Unmarshal([]byte(read(filepath.Join(tsClient, "package.json"))), &client))
	require.NoError(t, json.Unmarshal([]byte(read("../../tools/node/package.json")), &tools))
	require.False(t, client.Private)
	require.Equal(t, []string{"ws"}, slices.Collect(maps.Keys(client.Dependencies)))
	for name, version := range client.DevDependencies {
		require.Equal(t, tools.Dependencies[name], version, name)
	}
	require.Equal(t, "^"+tools.Dependencies["ws"], client.Dependencies["ws"])
}

// consumesTS makes a fresh directory in which the packed client is installed, and compiles
// the tests of the client against it.
func consumesTS(t *testing.T, modules string) (dir string) {
	t.Helper()
	node := filepath.Join(modules, ".bin")
	dir = t.TempDir()
	require.Equal(t, packedTS(t), installsTS(t, modules, dir))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "test"), os.DirFS(filepath.Join(tsClient, "test"))))
	require.NoError(t, os.Remove(filepath.Join(dir, "test", "tsconfig.json")))
	for name, text := range map[string]string{
		"package.json":  `{"type":"module","private":true}`,
		"tsconfig.json": `{"compilerOptions":{"strict":true,"module":"nodenext","target":"es2022","types":["node"],"rootDir":"test","outDir":"out"},"include":["test"]}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	compile := exec.Command(filepath.Join(node, "tsc"), "-p", dir)
	runs(t, compile)
	require.NoError(t, os.Rename(filepath.Join(dir, "test", "reporter.mjs"), filepath.Join(dir, "out", "reporter.mjs")))
	return dir
}

// installsTS packs the client and installs the package in a directory, with what it needs. It
// returns the files of the package.
func installsTS(t *testing.T, modules, dir string) (files []string) {
	t.Helper()
	installed := filepath.Join(dir, "node_modules")
	require.NoError(t, os.MkdirAll(filepath.Join(installed, "@types"), 0o700))
	for _, name := range []string{"ws", "@types/node", "undici-types"} {
		require.NoError(t, os.Symlink(filepath.Join(modules, name), filepath.Join(installed, name)))
	}
	return unpack(t, packTS(t, modules), filepath.Join(installed, "troupe-client"))
}

// packTS packs a copy of the client, as npm publish does, and returns the file.
func packTS(t *testing.T, modules string) string {
	t.Helper()
	npm := need.Program(t, "npm")
	source := filepath.Join(t.TempDir(), "typescript")
	for _, name := range []string{"src", "test"} {
		require.NoError(t, os.CopyFS(filepath.Join(source, name), os.DirFS(filepath.Join(tsClient, name))))
	}
	for _, name := range []string{"package.json", "tsconfig.json", "README.md", "LICENSE"} {
		text, err := os.ReadFile(filepath.Join(tsClient, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(source, name), text, 0o600))
	}
	require.NoError(t, os.Symlink(modules, filepath.Join(source, "node_modules")))
	pack := exec.Command(npm, "pack", "--offline")
	pack.Dir = source
	pack.Env = append(os.Environ(), "HOME="+t.TempDir(), "npm_config_update_notifier=false")
	runs(t, pack)
	packed, err := filepath.Glob(filepath.Join(source, "troupe-client-*.tgz"))
	require.NoError(t, err)
	require.Len(t, packed, 1)
	return packed[0]
}

// packedTS returns what the package must have: each source as code and types.
func packedTS(t *testing.T) []string {
	t.Helper()
	files := []string{"LICENSE", "README.md", "package.json", "dist/api.d.ts"}
	sources, err := filepath.Glob(filepath.Join(tsClient, "src", "*.ts"))
	require.NoError(t, err)
	for _, source := range sources {
		if name, code := strings.CutSuffix(filepath.Base(source), ".ts"); code && !strings.HasSuffix(name, ".d") {
			files = append(files, "dist/"+name+".js", "dist/"+name+".d.ts")
		}
	}
	slices.Sort(files)
	return files
}

// unpack unpacks a package into a directory, and returns its files.
func unpack(t *testing.T, path, into string) (files []string) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	plain, err := gzip.NewReader(file)
	require.NoError(t, err)
	for from := tar.NewReader(plain); ; {
		head, err := from.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(files)
			return files
		}
		require.NoError(t, err)
		name := strings.TrimPrefix(head.Name, "package/")
		files = append(files, name)
		text, err := io.ReadAll(from)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(into, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(into, name), text, 0o600))
	}
}

// runs runs a program that must succeed.
func runs(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", cmd, said)
}
