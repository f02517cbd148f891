package omp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/backends/disk"
	"troupe/internal/shelltext"
	"troupe/internal/shelltext/urls"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

func TestR015_ATrailingLimitIsTakenOutOfTheCommand(t *testing.T) {
	r := newRig(t)
	require.True(t, strings.HasPrefix(r.run("  seq 10 | head -n 3  "), "1\n2\n3\n\n"))
	require.Equal(t, "( seq 10\n)", r.ran()[0].Command, "it runs without the pipe, in a copy of the shell as the pipe had it")
	require.True(t, strings.HasPrefix(r.run("seq 10 | tail -2"), "9\n10\n\n"))
}

// What stood before a pipe changes and ends a copy of the shell, not the shell.
func TestATakenPipeLeavesTheShellAsItIs(t *testing.T) {
	r := newRig(t)
	r.run("f() { Z=1; echo f; }; k() { exit 3; }; X=kept")
	for _, command := range []string{"f | head -1", "for Z in 1; do echo $Z; done | tail -1", "echo ${Z:=1} | head -1", "k | head -1", "(k; true) | head -1"} {
		r.run(command)
		require.Contains(t, r.run("echo $X and $Z."), "kept and .\n", command)
	}
}

func TestR017_GivenLimitsOverrideTakenOnes(t *testing.T) {
	r := newRig(t)
	require.True(t, strings.HasPrefix(r.bash(args{"command": "seq 10 | head -3", "head": 2}).Text, "1\n2\n\n"))
	require.True(t, strings.HasPrefix(r.bash(args{"command": "seq 10 | tail -3", "tail": 1}).Text, "10\n\n"))
	require.True(t, strings.HasPrefix(r.bash(args{"command": "seq 10 | head -3", "tail": 1}).Text, "3\n\n"))
}

func TestR019_LimitsComeBeforeTheTextForNothing(t *testing.T) {
	r := newRig(t)
	require.True(t, strings.HasPrefix(r.run("true | head -3"), "(no output)\n\n"))
	require.True(t, strings.HasPrefix(r.bash(args{"command": "seq 9", "head": 4, "tail": 2}).Text, "3\n4\n\n"))
}

func TestR021_HeadLinesAreThoseOfTheWholeLog(t *testing.T) {
	r := newRig(t)
	result := r.bash(args{"command": "seq 200000", "head": 2})
	require.True(t, strings.HasPrefix(result.Text, "1\n2\n\nWall"), result.Text)
	require.Nil(t, details(t, result).Meta, "nothing that was asked for is missing")
	require.True(t, strings.HasPrefix(r.bash(args{"command": "seq 200000", "tail": 2}).Text, "199999\n200000\n\nWall"))
}

func TestR022_AnEndlessCommandEndsBehindItsFirstLines(t *testing.T) {
	r := newRig(t)
	result := r.run("yes | head -5")
	require.True(t, strings.HasPrefix(result, strings.Repeat("y\n", 5)+"\nWall"), result)
	require.Contains(t, r.run("while :; do echo z; done | head -2"), "z\nz\n\nWall", "what the shell does itself")
	status := r.bash(args{"command": "sh -c 'echo a; exit 3' | head -5"})
	require.True(t, strings.HasSuffix(status.Text, "Command exited with code 3"), "it ended itself")
	done := filepath.Join(r.dir, "done")
	r.run("sh -c 'echo 1; touch " + done + "' | head -1")
	require.FileExists(t, done, "what it does without writing it may do")
	r2 := newRig(t, settings(func(s *Settings) { s.OneShot = true }))
	require.Contains(t, r2.run("yes | head -5"), "y\n\nWall")
}

func TestR024_LimitsAreOneSetting(t *testing.T) {
	r := newRig(t, settings(func(s *Settings) { s.StripTrailingHeadTail = false }))
	require.Contains(t, r.run("seq 10 | head -2"), "1\n2\n\nWall")
	require.Equal(t, "seq 10 | head -2", r.ran()[0].Command)
	require.NotContains(t, string(r.Tools()[0].Schema), `"head"`)
	require.True(t, r.bash(args{"command": "seq 3", "head": 1}).IsError)
	require.Contains(t, string(newRig(t).Tools()[0].Schema), `"head"`)
}

func TestR025_ALeadingCdBecomesTheDirectory(t *testing.T) {
	r := newRig(t)
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "a b"), 0o700))
	require.Contains(t, r.run(`cd "a b" && pwd`), r.dir+"/a b\n")
	require.Equal(t, "pwd", r.ran()[0].Command)
	require.Contains(t, r.bash(args{"command": "cd /usr && pwd", "cwd": "a b"}).Text, "/usr\n")
	require.Equal(t, "cd /usr && pwd", r.ran()[1].Command, "a directory was given")
	require.Contains(t, r.run("cd / && echo in $PWD."), "in /.\n", "not what a cwd of / means")
}

func TestR029_TheInterceptorSeesBothCommands(t *testing.T) {
	intercepts := func(rule shelltext.Rule) *rig {
		return newRig(t, settings(func(s *Settings) { s.Interceptor, s.Rules = true, []shelltext.Rule{rule} }), func(o *Options, _ *JobsOptions) { o.Tools = []string{"read"} })
	}
	r := intercepts(shelltext.Rule{Pattern: `^cat x; ls$`, Tool: "read", Message: "m"})
	require.Equal(t, "Blocked: m\n\ncat x; ls", r.run("cd /tmp && cat x; ls"), "the one without cd")
	r = intercepts(shelltext.Rule{Pattern: `^cd /tmp`, Tool: "read", Message: "m"})
	require.Equal(t, "Blocked: m\n\ncd /tmp && cat x", r.run("cd /tmp && cat x"), "the one that was given")
}

func TestR030_TheInterceptorIsOffByDefault(t *testing.T) {
	r := newRig(t, func(o *Options, _ *JobsOptions) { o.Tools = []string{"read"} })
	require.Contains(t, r.run("cat /dev/null"), "(no output)")
	on := newRig(t, settings(func(s *Settings) { s.Interceptor = true }), func(o *Options, _ *JobsOptions) { o.Tools = []string{"read"} })
	require.True(t, strings.HasPrefix(on.run("cat /dev/null"), "Blocked: "))
	elsewhere := newRig(t, settings(func(s *Settings) { s.Interceptor = true }), func(o *Options, _ *JobsOptions) { o.Tools = []string{"grep"} })
	require.Contains(t, elsewhere.run("cat /dev/null"), "(no output)", "the tool is not there")
}

func TestR032_ABlockedCommandIsNotRun(t *testing.T) {
	r := newRig(t, settings(func(s *Settings) { s.Interceptor = true }), func(o *Options, _ *JobsOptions) { o.Tools = []string{"read", "edit"} })
	result := r.bash(args{"command": "sed -i s/a/b/ x"})
	require.True(t, result.IsError)
	require.True(t, strings.HasPrefix(result.Text, "Blocked: "), result.Text)
	require.True(t, strings.HasSuffix(result.Text, "\n\nsed -i s/a/b/ x"), result.Text)
	require.Empty(t, r.ran())
}

func TestR035_TheOwnAsyncModeIsSuggested(t *testing.T) {
	on := newRig(t, async, settings(func(s *Settings) { s.Interceptor = true }), func(o *Options, _ *JobsOptions) { o.Tools = []string{"bash"} })
	for _, command := range []string{"nohup make", "make &"} {
		require.Equal(t, "bash", dialecttest.Fields(t, on.bash(args{"command": command}).Details)["suggestedTool"], command)
	}
	off := newRig(t, settings(func(s *Settings) { s.Interceptor = true }), func(o *Options, _ *JobsOptions) { o.Tools = []string{"bash"} })
	require.False(t, off.bash(args{"command": "nohup true"}).IsError, "there is no async mode")
}

func TestR036_ABlockNamesTheToolInTheDetails(t *testing.T) {
	r := newRig(t, settings(func(s *Settings) { s.Interceptor = true }), func(o *Options, _ *JobsOptions) { o.Tools = []string{"read"} })
	require.Equal(t, "read", dialecttest.Fields(t, r.bash(args{"command": "cat x"}).Details)["suggestedTool"])
}

func TestR038_InternalURLsBecomePaths(t *testing.T) {
	r := newRig(t, func(o *Options, _ *JobsOptions) {
		local := filepath.Join(o.Dir, "it's local")
		o.Routers = append(o.Routers, urls.LocalFiles{Files: disk.Files{}, Root: local})
	})
	require.False(t, r.bash(args{"command": `printf x > local://a/f && cat local://a/f`}).IsError)
	path := filepath.Join(r.dir, "it's local", "a", "f")
	require.FileExists(t, path)
	require.Contains(t, r.bash(args{"command": `printf '%s' "$F"`, "env": args{"F": "local://a/f"}}).Text, path)
	require.Contains(t, r.bash(args{"command": "pwd", "cwd": "local://a"}).Text, filepath.Dir(path)+"\n")
	r.run("seq 30000")
	require.Contains(t, r.run("head -n 1 artifact://0"), "1\n")
}

func TestR042_AURLThatCannotBeResolvedIsAnError(t *testing.T) {
	r := newRig(t)
	for _, url := range []string{"artifact://99", "artifact://x", "skill://none", "local://x"} {
		result := r.bash(args{"command": "cat " + url})
		require.True(t, result.IsError)
		require.Contains(t, result.Text, url)
	}
	require.Contains(t, r.run("echo http://x.test/y"), "http://x.test/y\n")
	require.Len(t, r.ran(), 1)
}

func TestR048_ADirectoryThatIsNoneIsSaid(t *testing.T) {
	r := newRig(t)
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "file"), nil, 0o600))
	require.Equal(t, "Working directory does not exist: "+r.dir+"/no", r.bash(args{"command": "true", "cwd": "no"}).Text)
	require.Equal(t, "Working directory is not a directory: "+r.dir+"/file", r.bash(args{"command": "true", "cwd": "file"}).Text)
	require.Empty(t, r.ran())
}

func TestR049_TheDirectoryIsResolved(t *testing.T) {
	r := newRig(t, func(o *Options, _ *JobsOptions) { o.Home = o.Dir })
	require.NoError(t, os.MkdirAll(filepath.Join(r.dir, "real"), 0o700))
	require.NoError(t, os.Symlink("real", filepath.Join(r.dir, "link")))
	for cwd, want := range map[string]string{"~": "", "~/real": "/real", "//": "", "link": "/real", "./real/..": ""} {
		require.Contains(t, r.bash(args{"command": "pwd", "cwd": cwd}).Text, r.dir+want+"\n", cwd)
	}
}

func TestR050_ADeletedDirectoryDoesNotBrickTheShell(t *testing.T) {
	r := newRig(t)
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "sub"), 0o700))
	r.bash(args{"command": "kept=1", "cwd": "sub"})
	require.NoError(t, os.Remove(filepath.Join(r.dir, "sub")))
	require.Contains(t, r.run("pwd; echo $kept"), r.dir+"\n1\n")
	require.Equal(t, messages.Exited, r.ran()[1].End.Outcome)
}

// Texts that are made to cost much are run as they are.
func TestHostileTextsGoThroughTheSteps(t *testing.T) {
	s := New(Options{Settings: DefaultSettings(), FS: disk.Files{}, Dir: "/", Tools: []string{"read", "edit"}})
	s.options.Settings.Interceptor = true
	for name, text := range map[string]string{
		"nested":   strings.Repeat("(", 100_000) + strings.Repeat(")", 100_000) + " | head -5",
		"huge":     "echo " + strings.Repeat("x", 16<<20-10),
		"heredocs": strings.Repeat("cat <<A\n", 8192) + "x\nA\n | tail -5",
		"bytes":    strings.Repeat("\x00\xff'\"`$(", 5000),
	} {
		c := &call{p: Params{Command: text}, original: text, command: text}
		for _, step := range steps {
			require.NoError(t, step.do(s, c), name)
		}
		require.Equal(t, text, c.command, name)
	}
}
