package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"troupe/backends/keeper"
	"troupe/client"
	"troupe/host"
	"troupe/internal/cli/config"
	"troupe/internal/limits"
	"troupe/messages"
)

// The descriptors of the keeper for each job are those that doctor counts with. The daemon
// has one for a log that it reads.
func TestDescriptorsOfAJob(t *testing.T) {
	t.Parallel()
	const first, more = 300, 50 // the first ones take all descriptors that are for cgroups
	d := serves(t, nil)
	c, err := client.Dial(t.Context(), d.file("troupe/daemon.sock"))
	require.NoError(t, err)
	defer c.Close()
	started := 0
	start := func(n int, r messages.RunCommand) {
		for range n {
			started++
			r := r
			r.Scope = messages.ScopePath(fmt.Sprintf("crowd-%d", started/50)) // limits.parallel is that of a scope
			if r.Open != nil {
				r.Session = messages.SessionID(fmt.Sprintf("s%d", started))
			}
			result, err := c.Run(t.Context(), r)
			require.NoError(t, err)
			if r.Open == nil {
				wait := messages.WaitJobs{Jobs: []messages.JobID{result.Job.ID}, Condition: messages.Condition{Kind: messages.UntilPattern, Pattern: "said", Stream: messages.Merged}}
				if r.Streams == messages.SeparateStreams {
					wait.Condition.Stream = messages.Stdout
				}
				_, err = host.Ask(t.Context(), c.Host(), wait)
				require.NoError(t, err)
			}
		}
	}
	open := func() (ofKeeper, ofDaemon int) {
		_, ofKeeper, known := limits.Files(keeper.Holder(d.file("troupe/" + config.KeeperName)))
		require.True(t, known)
		_, ofDaemon, known = limits.Files(d.daemonPID())
		require.True(t, known)
		return ofKeeper, ofDaemon
	}
	says := messages.RunCommand{Program: messages.Program{Text: "echo said; exec sleep 600"}, Mode: messages.ModeAsync}
	apart := messages.RunCommand{Program: messages.Program{Text: "echo said >&2; echo said; exec sleep 600"}, Mode: messages.ModeAsync, Stdio: messages.Stdio{Streams: messages.SeparateStreams}}
	shell := messages.RunCommand{Program: messages.Program{Text: "true"}, Open: &messages.SessionPlan{Backend: messages.BackendShell}}

	start(1, shell)
	before, ofDaemon := open()
	start(more, shell)
	after, ofDaemonAfter := open()
	t.Logf("live shell: %.2f descriptors of the keeper", float64(after-before)/more)
	assert.InDelta(t, keeper.DescriptorsShell, float64(after-before)/more, 0.2, "live shell")
	assert.InDelta(t, 0, ofDaemonAfter-ofDaemon, 5, "live shell")
	start(1, says)
	before, _ = open()
	start(first, says)
	crowd, _ := open()
	cgroups := float64(crowd-before) - first*2
	for _, c := range []struct {
		kind string
		r    messages.RunCommand
		want float64
	}{
		{"merged", says, keeper.DescriptorsMerged}, {"separate", apart, keeper.DescriptorsSeparate},
	} {
		before, ofDaemon = open()
		start(more, c.r)
		after, ofDaemonAfter = open()
		each := float64(after-before)/more + cgroups/keeper.CrowdMeasured
		t.Logf("%s: %.2f descriptors of the keeper, %.2f of the daemon", c.kind, each, float64(ofDaemonAfter-ofDaemon)/more)
		assert.InDelta(t, c.want, each, 0.15, c.kind)
		assert.LessOrEqual(t, float64(ofDaemonAfter-ofDaemon)/more, 2.1, "%s: of the logs that were read", c.kind)
	}

	p := d.beside("doctor", "--json").start()
	var report struct {
		Daemon struct {
			Files []struct {
				Process string `json:"process"`
				Limit   int    `json:"limit"`
				Open    int    `json:"open"`
				Fits    struct {
					Merged   int `json:"jobs"`
					Separate int `json:"jobs_separate"`
					Shells   int `json:"live_shells"`
				} `json:"fits"`
			} `json:"open_files"`
		} `json:"daemon"`
	}
	require.NoError(t, json.Unmarshal([]byte(p.rest()), &report))
	p.ends(0)
	require.Len(t, report.Daemon.Files, 2)
	files := report.Daemon.Files[1]
	ofKeeper, _ := open()
	rest := float64(files.Limit - files.Open)
	require.Equal(t, "keeper", files.Process)
	require.InDelta(t, ofKeeper, files.Open, 20)
	require.Equal(t, [3]int{int(rest / keeper.DescriptorsMerged), int(rest / keeper.DescriptorsSeparate), int(rest / keeper.DescriptorsShell)}, [3]int{files.Fits.Merged, files.Fits.Separate, files.Fits.Shells})
	p = d.beside("doctor").start()
	text := p.rest()
	p.ends(0)
	require.Regexp(t, `\n  open files +daemon: \d+ of \w+ are open; each connection needs one, and each log that is read\n  open files +keeper: \d+ of \w+ are open; the rest is enough for [\d,]+ jobs, [\d,]+ with stdout and stderr apart, or [\d,]+ live shells on pipes\n`, text)
	require.Contains(t, text, "the keeper needs 2.1 for a job, 4.1 with stdout and stderr apart, 7 for a live shell on pipes")
}
