package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/core"
	"troupe/internal/test/need"
)

// Many clients at once, over HTTP and stdio, see their own jobs and outputs only, and
// each end once.
func TestMCPCrowd(t *testing.T) {
	t.Parallel()
	commands := 50
	if need.Soak() {
		commands = 200
	}
	d := serves(t, nil)
	web := d.port()
	var all []*agent
	for i := range 32 {
		all = append(all, web.agent(fmt.Sprint("client-", i), []string{withSessions, withRounds}[i%2], nil))
	}
	for i := range 8 {
		all = append(all, d.agent([]string{withSessions, withRounds}[i%2], nil))
	}
	require.NoError(t, inTurns(len(all), len(all), func(c int) error { return all[c].among(c, commands) }))
	for _, a := range all {
		require.NoError(t, a.Close())
	}
}

// among does some commands as one of many, each fifth in the background.
func (a *agent) among(client, commands int) error {
	mine := fmt.Sprintf("client %d does", client)
	told, background := map[string]int{}, map[string]int{}
	for i := range commands {
		args := params{"command": fmt.Sprintf("echo %s %d; exit %d", mine, i, i%200), "background": i%5 == 4, "wait_seconds": 55}
		if i%5 == 4 {
			delete(args, "wait_seconds")
		}
		r, _, err := ask[core.RunResult](a.t.Context(), a, "run", args)
		switch {
		case err != nil:
			return err
		case i%5 == 4:
			if r.ExitCode == nil { // else its result has reported the end
				background[r.JobID] = i
			}
		case r.ExitCode == nil || *r.ExitCode != i%200 || r.Output != fmt.Sprintf("%s %d\n", mine, i):
			return fmt.Errorf("%s %d: %+v", mine, i, r)
		}
		for _, n := range r.Notifications {
			told[n.JobID]++
		}
	}
	for len(told) < len(background) { // the call waits for those that go on
		w, _, err := ask[core.WaitResult](a.t.Context(), a, "wait", params{"any": true, "timeout_seconds": 55})
		if err != nil {
			return err
		}
		for _, n := range w.Notifications {
			told[n.JobID]++
		}
		for _, seen := range w.Jobs {
			if seen.Met {
				told[seen.JobID]++
			}
		}
		if !w.Satisfied || len(w.Jobs) == 0 && len(told) < len(background) {
			return fmt.Errorf("%s: told of %v, and %v were in the background: %+v", mine, told, background, w)
		}
	}
	jobs, _, err := ask[core.Jobs](a.t.Context(), a, "list", params{"all": true})
	if err != nil {
		return err
	}
	for _, n := range jobs.Notifications {
		told[n.JobID]++
	}
	for id, times := range told {
		if _, is := background[id]; times != 1 || !is {
			return fmt.Errorf("%s: told %d times of %s; in the background were %v", mine, times, id, background)
		}
	}
	if len(jobs.Jobs) != commands {
		return fmt.Errorf("%s: %d jobs are listed", mine, len(jobs.Jobs))
	}
	for _, j := range jobs.Jobs {
		if !strings.HasPrefix(j.Command, "echo "+mine+" ") {
			return fmt.Errorf("%s: %s is listed", mine, j.Command)
		}
		if _, is := background[j.JobID]; !is { // its result has shown what it wrote
			continue
		}
		r, _, err := ask[core.RunResult](a.t.Context(), a, "read", params{"job_id": j.JobID, "head": 1})
		if err != nil || !strings.HasPrefix(r.Output, mine+" ") {
			return fmt.Errorf("%s: %s has the output %q: %w", mine, j.JobID, r.Output, err)
		}
	}
	return nil
}
