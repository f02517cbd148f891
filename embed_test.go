package troupe_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const embedder = `package main

import (
	"context"
	"fmt"
	"os"

	"troupe"
)

func main() {
	ctx := context.Background()
	node, err := troupe.Open(ctx, troupe.Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	job, err := node.Run(ctx, troupe.Exec("bash", "-c", "exit 5"))
	fmt.Println(job.End.Outcome, job.End.Shell(), err, node.Close())
}
`

// Another module embeds troupe by a replace line, with the module cache alone.
func TestAnotherModuleEmbedsTroupe(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	sum, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	first, rest, _ := strings.Cut(string(mod), "\n")
	module := strings.TrimPrefix(first, "module ")
	write("go.mod", "module embedder\n"+rest+"\nrequire "+module+" v0.0.0\n\nreplace "+module+" => "+here+"\n")
	write("go.sum", string(sum))
	write("main.go", strings.Replace(embedder, `"troupe"`, strconv.Quote(module), 1))

	run := exec.Command("go", "run", "-mod=mod", ".")
	run.Dir = dir
	run.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off")
	out, err := run.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "exited 5 job j1 exited with 5 <nil>\n", string(out))
}
