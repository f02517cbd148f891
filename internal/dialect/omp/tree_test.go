package omp

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/backends/disk"
	"troupe/internal/dialect"
	"troupe/internal/shelltext/urls"
	"troupe/messages"
)

// What the packages below promise holds for a command that a model has run.

func TestR018_MergedErrorsStayMerged(t *testing.T) {
	r := newRig(t)
	require.True(t, strings.HasPrefix(r.run("{ echo out; echo err >&2; } 2>&1 | tail -n 1"), "err\n\nWall"))
	require.Equal(t, "( { echo out; echo err >&2; } 2>&1\n)", r.ran()[0].Command)
}

func TestR031_ARuleBlocksOnlyWhereItsToolIsThere(t *testing.T) {
	for _, tools := range [][]string{nil, {"edit"}, {"read"}} {
		r := newRig(t, settings(func(s *Settings) { s.Interceptor = true }), func(o *Options, _ *JobsOptions) { o.Tools = tools })
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, "x"), []byte("text\n"), 0o600))
		result := r.bash(args{"command": "  cat x  "})
		if len(tools) == 1 && tools[0] == "read" {
			require.True(t, result.IsError)
			require.Empty(t, r.ran())
			continue
		}
		require.True(t, strings.HasPrefix(result.Text, "text\n"), result.Text)
	}
}

func TestR034_DefaultRules(t *testing.T) {
	r := newRig(t, settings(func(s *Settings) { s.Interceptor = true }), func(o *Options, _ *JobsOptions) { o.Tools = []string{"read", "search", "find", "edit", "write"} })
	difference := ": it checks what it replaces and shows the difference."
	for command, want := range map[string]string{
		"cat x":                     "Use the `read` tool instead of cat, head, tail, less or more: it pages and numbers the lines.",
		"grep -r x .":               "Use the `search` tool instead of grep, rg, ripgrep, ag or ack: it skips ignored files and bounds what it returns.",
		"find . -name x":            "Use the `find` tool instead of find, fd or locate with a pattern: it skips ignored files and is faster.",
		"sed -i s/a/b/ x":           "Use the `edit` tool instead of sed -i" + difference,
		"perl -pi -e s/a/b/ x":      "Use the `edit` tool instead of perl -i" + difference,
		"awk -i inplace '{print}'x": "Use the `edit` tool instead of awk -i inplace" + difference,
		"echo a > x":                "Use the `write` tool instead of echo, printf or cat << with a redirection: nothing in the text has to be quoted.",
	} {
		require.Equal(t, "Blocked: "+want+"\n\n"+command, r.bash(args{"command": command}).Text)
	}
	require.Empty(t, r.ran())
	require.True(t, strings.HasPrefix(r.run("echo a | cat"), "a\n"))
}

// withRouter gives a session one more kind of URL, of files below its directory.
func withRouter(router func(dir string) urls.Router) with {
	return func(o *Options, _ *JobsOptions) { o.Routers = append(o.Routers, router(o.Dir)) }
}

func TestR043_Skills(t *testing.T) {
	r := newRig(t, withRouter(func(dir string) urls.Router {
		return urls.Skills{Files: disk.Files{}, Known: []urls.SkillFile{{Name: "my skill", File: filepath.Join(dir, "skill", "SKILL.md"), Dir: filepath.Join(dir, "skill")}}}
	}))
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "skill"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "skill", "SKILL.md"), []byte("how to\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "skill", "run.sh"), []byte("echo ran\n"), 0o600))
	require.True(t, strings.HasPrefix(r.run("cat skill://my%20skill"), "how to\n"))
	require.True(t, strings.HasPrefix(r.run("sh skill://my%20skill/run.sh"), "ran\n"))
}

func TestR044_LocalFiles(t *testing.T) {
	r := newRig(t, withRouter(func(dir string) urls.Router {
		return urls.LocalFiles{Files: disk.Files{}, Root: urls.LocalRoot("", dir, "a/b")}
	}))
	require.False(t, r.bash(args{"command": "echo kept > local://notes/a.txt"}).IsError)
	require.FileExists(t, filepath.Join(r.dir, "sessions", "a_b", "local", "notes", "a.txt"))
	require.True(t, strings.HasPrefix(r.run("cat local://notes/a.txt"), "kept\n"))
	require.True(t, r.bash(args{"command": "cat local://../../secret"}).IsError)
	require.Len(t, r.ran(), 2)
}

func TestR045_AnArtifactIsFoundByItsId(t *testing.T) {
	r := newRig(t)
	r.run("seq 20000")
	require.True(t, strings.HasPrefix(r.run("wc -l < artifact://0"), "20000\n"))
}

// codeless is a host that does not know how commands have ended.
type codeless struct{ dialect.Host }

func (c codeless) Run(ctx context.Context, r messages.RunCommand, most int, known func(messages.JobID)) (messages.Record, dialect.Text, error) {
	job, text, err := c.Host.Run(ctx, r, most, known)
	job.End.Outcome = messages.Lost
	return job, text, err
}
