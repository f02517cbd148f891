package main

import (
	"fmt"
	"strings"
	"time"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// statusSurvivors is the exit status of a stop that could not end everything.
const statusSurvivors = 4

// stopped is what became of several stops: what went wrong with some hides nothing
// of what was done with the others.
type stopped struct {
	wire.Stopped
	failures
}

// stopJobs ends the jobs of the arguments, or of a scope.
func stopJobs(a *daemonCommand, scope string, grace time.Duration) error {
	requests := []messages.StopCommand{{Scope: messages.ScopePath(scope), Grace: grace, Reason: "troupe stop --scope " + scope}}
	if len(a.args) > 0 {
		requests = nil
		for _, id := range a.args {
			requests = append(requests, messages.StopCommand{Job: messages.JobID(id), Grace: grace, Reason: "troupe " + a.cmd.Name()})
		}
	}
	all := stopped{Stopped: wire.Stopped{V: wire.Version, Jobs: []messages.JobID{}, Survivors: []messages.Survivor{}, Already: len(a.args) > 0}}
	replies, errs := inParallel(requests, func(r messages.StopCommand) (messages.CommandStopped, error) { return a.Stop(a.ctx, r) })
	for i, s := range replies {
		if errs[i] != nil {
			all.add(errs[i])
			continue
		}
		all.Jobs = append(all.Jobs, s.Jobs...)
		all.Survivors = append(all.Survivors, s.Survivors...)
		all.Already = all.Already && s.Already
	}
	all.Already = all.Already && len(all.Jobs) > 0
	if len(all.Survivors) > 0 {
		return survived(a, all)
	}
	if all.Error == nil && scope != "" && len(all.Jobs) == 0 { // as after the last of them has ended; or a scope mistyped
		a.printError(fmt.Errorf("there was no job to stop at or below the scope %s", scope))
	}
	return a.together(all, all.failures)
}

// survived tells of processes that could not be ended, which is the worst that can
// have happened, and of what else went wrong.
func survived(a *daemonCommand, all stopped) error {
	all.Error = nil
	if a.json {
		if err := a.object(all); err != nil {
			return err
		}
	}
	for _, e := range all.Errors {
		a.printError(&e)
	}
	for _, s := range all.Survivors {
		a.printError(survivorError(s))
	}
	return exitStatus(statusSurvivors)
}

// survivorError names one of them.
func survivorError(s messages.Survivor) error {
	return fmt.Errorf("process %d could not be ended: %s", s.PID, survivorText(s))
}

// survivorText is why a process could not be ended.
func survivorText(s messages.Survivor) string {
	if s.Why != "" {
		return s.Why
	}
	return strings.TrimSpace("it is in state " + s.State + " " + s.Wchan)
}

// acknowledge ends a verb that has nothing to tell.
func acknowledge(a *daemonCommand, err error) error {
	if err == nil && a.json {
		return a.object(wire.Acknowledged{V: wire.Version})
	}
	return err
}
