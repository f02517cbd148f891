package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// set is a client of a dialect whose server has some settings.
func (p *process) set(dialect, config string, flags ...string) *agent {
	p.t.Helper()
	server := p.server(append([]string{"--dialect", dialect}, flags...)...)
	server.Env = append(server.Env, p.configures(config), "BASH_ENV="+p.file("profile"))
	return server.speaks(withSessions, nil)
}

// bash runs a command in a dialect, and gives what a model sees first.
func (a *agent) bash(command string, more params) (string, bool) {
	a.t.Helper()
	args := params{"command": command}
	for key, value := range more {
		args[key] = value
	}
	said, failed, _ := a.says("bash", args)
	return said[0], failed
}

// Each setting of the dialect omp is seen by its clients.
func TestSettingsOfOMP(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	filters := d.file("filters.toml")
	require.NoError(t, os.WriteFile(filters, []byte("[filters.x]\nmatch_command = 'seq'\nstrip_lines_matching = ['[1-9]$']\n"), 0o600))
	for file, text := range map[string]string{"agents/it.md": "an agent", "plans/it.md": "a plan", "memories/memory_summary.md": "a memory", "rules/it.mdc": "a rule"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(d.file(file)), 0o700))
		require.NoError(t, os.WriteFile(d.file(file), []byte(text+"\n"), 0o600))
	}
	minimized := "minimize_filters = '" + filters + "'\n"
	for _, c := range []struct {
		name, config string
		flags        []string
		sees         func(*testing.T, *agent)
	}{
		{"async", "async = false", nil, func(t *testing.T, a *agent) {
			require.Equal(t, []string{"bash"}, toolNames(a))
			said, failed := a.bash("true", params{"async": true})
			require.True(t, failed)
			require.Contains(t, said, "Async bash execution is disabled")
		}},
		{"auto_background", "auto_background = true\nauto_background_after = '100ms'\njobs = 1", nil, func(t *testing.T, a *agent) {
			said, _ := a.bash("echo begun; sleep 600", nil)
			require.Contains(t, said, "Background job bg_1")
			said, failed := a.bash("true", params{"async": true})
			require.True(t, failed)
			require.Contains(t, said, "The limit of 1 background jobs is reached")
		}},
		{"poll_wait", "poll_wait = '5s'", nil, func(t *testing.T, a *agent) {
			_, _ = a.bash("sleep 600", params{"async": true})
			began := time.Now()
			said, _, _ := a.says("job", params{"poll": []string{"bg_1"}})
			require.Contains(t, said[0], "bg_1")
			require.Less(t, time.Since(began), 25*time.Second, "30 s are the default")
			require.GreaterOrEqual(t, time.Since(began), 5*time.Second)
		}},
		{"strip_trailing_head_tail", "strip_trailing_head_tail = false", nil, func(t *testing.T, a *agent) {
			_, failed := a.bash("echo x", params{"head": 1})
			require.True(t, failed)
			said, _ := a.bash("seq 9 | head -n 2", nil)
			require.True(t, strings.HasPrefix(said, "1\n2\n\n"), said)
		}},
		{"max_timeout", "max_timeout = '1s'", nil, func(t *testing.T, a *agent) {
			said, failed := a.bash("sleep 600", params{"timeout": 500})
			require.True(t, failed)
			require.Contains(t, said, "timed out after 1 second")
		}},
		{"zero_timeout_disables", "zero_timeout_disables = false", nil, func(t *testing.T, a *agent) {
			said, failed := a.bash("sleep 600", params{"timeout": 0})
			require.True(t, failed)
			require.Contains(t, said, "timed out after 1 second")
		}},
		{"shell", "shell = '/bin/sh'", nil, func(t *testing.T, a *agent) {
			said, _ := a.bash(`echo "<$0>"`, nil)
			require.NotContains(t, said, "bash")
		}},
		{"live shells", "", nil, func(t *testing.T, a *agent) {
			_, _ = a.bash("X=kept", nil)
			said, _ := a.bash(`echo "<$X>"`, nil)
			require.Contains(t, said, "<kept>")
		}},
		{"one_shot", "one_shot = true", nil, func(t *testing.T, a *agent) {
			_, _ = a.bash("X=kept", nil)
			said, _ := a.bash(`echo "<$X>"`, nil)
			require.Contains(t, said, "<>")
		}},
		{"intercept", "intercept = true\nsearch_tool = 'seek'", []string{"--tools", "seek"}, func(t *testing.T, a *agent) {
			said, failed := a.bash("grep x y", nil)
			require.True(t, failed)
			require.Contains(t, said, "seek")
			said, _ = a.bash("cat missing", nil)
			require.NotContains(t, said, "Blocked", "there is no tool read")
		}},
		{"minimize_filters", minimized, nil, sequenced(100)},
		{"minimize", minimized + "minimize = false", nil, sequenced(1000)},
		{"minimize_only", minimized + "minimize_only = ['git']", nil, sequenced(1000)},
		{"minimize_except", minimized + "minimize_except = ['seq']", nil, sequenced(1000)},
		{"roots", "agents = ['" + d.file("agents") + "']\nplans = ['" + d.file("plans") + "']\nmemories = ['" + d.file("memories") + "']\nrule_files = ['" + d.file("rules") + "']", nil, func(t *testing.T, a *agent) {
			said, failed := a.bash("cat agent://it plan://it memory://root rule://it", nil)
			require.False(t, failed, said)
			require.True(t, strings.HasPrefix(said, "an agent\na plan\na memory\na rule\n"), said)
		}},
	} {
		t.Run(c.name, func(t *testing.T) { c.sees(t, d.set("omp", "[omp]\n"+c.config+"\n", c.flags...)) })
	}
}

// sequenced sees a number of the lines of seq 1000.
func sequenced(lines int) func(*testing.T, *agent) {
	return func(t *testing.T, a *agent) {
		said, _ := a.bash("seq 1000", nil)
		shown, _, _ := strings.Cut(said, "\n\n")
		require.Equal(t, lines, strings.Count("\n"+shown, "\n")-strings.Count(shown, "\n["), said)
	}
}

// A configured prefix stands before each command once, whether the server or the daemon
// adds it.
func TestAPrefixStandsThereOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.toml")
	require.NoError(t, os.WriteFile(file, []byte("prefix = 'echo PRE'\n"), 0o600))
	d := serves(t, []string{"TROUPE_CONFIG=" + file})
	for _, flags := range [][]string{nil, {"--no-daemon"}} {
		said, _ := d.set("omp", "prefix = 'echo PRE'\n", flags...).bash("hello", nil)
		require.True(t, strings.HasPrefix(said, "PRE hello\n"), "%v: %s", flags, said)
	}
}

// Each setting of the dialect opencode is seen by its clients, but for those of which
// TestMCPSpeaksOpenCode is.
func TestSettingsOfOpenCode(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	about := params{"description": "tries it"}
	a := d.set("opencode", "[mcp]\noutput = '2KB'\n[opencode]\nshell = '/bin/sh'\nbanned = ['curl']\nbackground = true\ndata_dir = '"+d.file("data")+"'\n")
	require.ElementsMatch(t, []string{"bash", "view", "tasklist", "taskstop"}, toolNames(a))
	said, failed := a.bash("curl x", about)
	require.True(t, failed)
	require.Equal(t, `the command "curl" is not allowed here`, said)
	said, _ = a.bash(`echo "<$0>"`, about)
	require.NotContains(t, said, "bash")
	said, _ = a.bash("seq 1000", about)
	require.Contains(t, said, "bytes of stdout were not kept")
	task, _, _ := a.says("bash", params{"command": "echo in a task", "description": "tries it", "run_in_background": true})
	require.Contains(t, task[0], d.file("data")+"/tasks/")
	notices := task[1:] // it may have come with the word that it began
	settles(t, "notices that have not come", 0, func() int {
		said, _, _ := a.says("tasklist", nil)
		notices = append(notices, said[1:]...)
		return 1 - len(notices)
	})
	a = d.set("opencode", "[opencode]\nplain_numbers = true\ngap_marker = true\n")
	said, _ = a.bash("seq 8432", about)
	require.Contains(t, said, "<stdout truncated: 8432 lines total>")
	require.Contains(t, said, "... [7432 lines truncated] ...")
	a = d.set("opencode", "[opencode]\nfiles = false\n")
	said, _ = a.bash("seq 5000", about)
	require.NotContains(t, said, "saved to")
	require.Contains(t, said, "... [3,000 lines truncated] ...")
	a = d.set("opencode", "")
	require.ElementsMatch(t, []string{"bash", "view"}, toolNames(a))
	said, failed = a.bash("true", params{"description": "tries it", "run_in_background": true})
	require.True(t, failed)
	require.Contains(t, said, "Background tasks are disabled")
}

// Each setting of the dialect copilot is seen by its clients, but for process, of which
// TestMCPSpeaksCopilot is.
func TestSettingsOfCopilot(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	require.NoError(t, os.WriteFile(d.file("profile"), []byte("OF_PROFILE=1\n"), 0o600))
	about, async := params{"description": "tries it"}, params{"description": "tries it", "mode": "async", "shellId": "mine"}
	a := d.set("copilot", "[copilot]\ninitial_wait = '200ms'\nquiet = true\nbash_env = true\ndetached_logs = '"+d.dir+"'\ndetached_names = 'mine'\n")
	said, _ := a.bash(`echo "<$OF_PROFILE>"`, params{"description": "looks", "initial_wait": 60})
	require.Contains(t, said, "<1>")
	said, _ = a.bash("sleep 600", about)
	require.Contains(t, said, "still running after 0.2 seconds")
	said, _ = a.bash("true", params{"description": "tries it", "mode": "async", "detach": true, "shellId": "own"})
	require.Contains(t, said, d.file("mine-own-"))
	_, _ = a.bash("echo over", async)
	texts, _, _ := a.says("read_bash", params{"shellId": "mine", "delay": 60})
	require.Contains(t, texts[0], "completed")
	texts, _, _ = a.says("list_bash", nil)
	require.Len(t, texts, 1, "it is quiet")

	a = d.set("copilot", "")
	said, _ = a.bash(`echo "<$OF_PROFILE>"`, about)
	require.Contains(t, said, "<>")
	texts, _, _ = a.says("bash", params{"command": "echo over", "description": "tries it", "mode": "async", "shellId": "mine"})
	notices := texts[1:] // it may have come with the word that it began
	settles(t, "notices that have not come", 0, func() int {
		texts, _, _ := a.says("list_bash", nil)
		notices = append(notices, texts[1:]...)
		return 1 - len(notices)
	})
}
