package copilot

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

func TestR230_ReadWaitsForTheDelay(t *testing.T) {
	r := newRig(t)
	for _, delay := range []float64{-1, 600.5, 1e9} {
		bad := r.read("a", delay)
		assert.True(t, bad.IsError)
		assert.Equal(t, "delay is "+number(delay)+"; it must be in the range 0..600 seconds", bad.Text)
	}
	synctest.Test(t, func(t *testing.T) {
		r, h := playedRig(t)
		r.async("a", "x")
		j := <-h.first
		h.writes(j, "so far")
		began := time.Now()
		assert.Contains(t, r.read("a", 42).Text, "so far\n<command with shellId: a is still running after 42 seconds. If the output")
		assert.Equal(t, 42*time.Second, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // a wait can be interrupted; the command goes on
		defer cancel()
		_, err := r.calls(ctx, "read_bash", args{"shellId": "a", "delay": 600}, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Contains(t, r.read("a", 0).Text, "is still running")
		h.exits(j, 0)
	})
	detached := rigOn(t, detaching(t))
	result := detached.call("bash", args{"command": `printf '\033[31mprogress\033[0m\n'; sleep 1000`, "description": "", "mode": "async", "detach": true, "shellId": "d"})
	detached.wrote("d", "progress")
	assert.Regexp(t, `^progress\n<detached command with shellId: d is still running after 0.1 seconds; all its output is in `+details(t, result).LogPath+`>$`, detached.read("d", 0).Text)
	detached.call("stop_bash", args{"shellId": "d"})
}

func TestR231_ReadReturnsWhatHasAccumulated(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		g := dialecttest.NewGate(t)
		r.async("a", "echo one; "+g.Wait()+"; echo two; exit_() { return 3; }; exit_")
		r.wrote("a", "one")
		for range 2 { // repeated reads repeat it
			text := r.read("a", 0)
			assert.False(t, text.IsError)
			assert.True(t, strings.HasPrefix(text.Text, "one\n<command with shellId: a is still running after 0.1 seconds. "), text.Text)
		}
		g.Open()
		end := r.read("a", 60)
		assert.False(t, end.IsError)
		assert.Equal(t, "one\ntwo\n<command with shellId: a completed with exit code 3>", end.Text)
		assert.Equal(t, "<command with shellId: a completed with exit code 3>", r.read("a", 60).Text) // the buffer is cleared
	})
}

func TestR232_Write(t *testing.T) {
	r := newRig(t)
	for _, arguments := range []args{{"shellId": "a", "delay": 10}, {"shellId": "a", "input": "", "delay": 10}} {
		empty := r.call("write_bash", arguments)
		assert.True(t, empty.IsError)
		assert.Equal(t, "The input is empty. Give text, or keys such as {enter}.", empty.Text)
	}
	r.async("a", `read -rp 'name? ' name; echo "hello $name"`)
	r.wrote("a", "name?")
	assert.Equal(t, "name? me\nhello me\n<command with shellId: a completed with exit code 0>", r.write("a", "me{enter}").Text)
	late := r.write("a", "more\n")
	assert.True(t, late.IsError)
	assert.Equal(t, "<no command with shellId: a takes input now: the input was not sent>", late.Text)

	synctest.Test(t, func(t *testing.T) {
		r, h := playedRig(t)
		r.async("a", "x")
		j := <-h.first
		for delay, want := range map[float64]time.Duration{0: 10 * time.Second, -3: 10 * time.Second, 9.9: 10 * time.Second, 11: 11 * time.Second, 600: 600 * time.Second} {
			began := time.Now()
			text := r.call("write_bash", args{"shellId": "a", "input": "x\n", "delay": delay}).Text
			assert.Equal(t, want, time.Since(began), delay)
			assert.Contains(t, text, "<command with shellId: a is still running after "+spoken(want)+" seconds")
		}
		bad := r.call("write_bash", args{"shellId": "a", "input": "x", "delay": 601})
		assert.Equal(t, "delay is 601; it must be in the range 0..600 seconds", bad.Text)
		assert.Equal(t, "x\r", h.typed[0])
		h.stuck = true // who does not read holds nobody up for longer
		began := time.Now()
		assert.Contains(t, r.call("write_bash", args{"shellId": "a", "input": "x", "delay": 10}).Text, "Not all of the input was read yet.\n<command with shellId: a is still running")
		assert.Equal(t, 10*time.Second, time.Since(began))
		h.exits(j, 0)
	})
	detached := rigOn(t, detaching(t))
	detached.call("bash", args{"command": "sleep 1000", "description": "", "mode": "async", "detach": true, "shellId": "d"})
	assert.Equal(t, "<no command with shellId: d takes input now: the input was not sent>", detached.write("d", "x").Text)
	detached.call("stop_bash", args{"shellId": "d"})
}

func TestR233_Stop(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		r.async("a", "sleep 1000")
		empty := r.call("stop_bash", args{"shellId": ""})
		assert.True(t, empty.IsError)
		assert.Equal(t, "The shellId is empty. Name the shell to stop.\nActive shell sessions:\n- a: running", empty.Text)
		uid := r.job("a")
		assert.Equal(t, "<command with shellId: a stopped>", r.call("stop_bash", args{"shellId": "a"}).Text)
		job, err := dialect.Job(context.Background(), r.options.Host, uid)
		require.NoError(t, err)
		assert.Equal(t, messages.Cancelled, job.End.Outcome)
		assert.Equal(t, "its shell was shut down", job.End.Cause.Reason)
		assert.Empty(t, r.listed().Sessions)
		r.async("idle", "true")
		r.over("idle")
		assert.Equal(t, "<command with shellId: idle stopped>", r.call("stop_bash", args{"shellId": "idle"}).Text)
		assert.Empty(t, r.listed().Sessions)
	})
}

func TestR289_ADetachedCommandIsStopped(t *testing.T) {
	r := rigOn(t, detaching(t))
	begin := func(id, command string) {
		r.call("bash", args{"command": command, "description": "", "mode": "async", "detach": true, "shellId": id})
	}
	begin("d", "sleep 1000")
	uid := r.job("d")
	stopped := r.call("stop_bash", args{"shellId": "d"})
	assert.Equal(t, "<command with shellId: d stopped>", stopped.Text)
	assert.Equal(t, "stopped", details(t, stopped).Telemetry["shell_status"])
	job, err := dialect.Job(context.Background(), r.options.Host, uid)
	require.NoError(t, err)
	assert.Equal(t, messages.Cancelled, job.End.Outcome)
	assert.Equal(t, "stopped by its agent", job.End.Cause.Reason)
	r.over("d")
	assert.Equal(t, StatusCancelled, details(t, stopped).Status)
	assert.Equal(t, "The shell with id d was stopped.\n<no active shell sessions>", r.read("d", 1).Text)
	assert.Equal(t, "already_stopped", details(t, r.call("stop_bash", args{"shellId": "d"})).Telemetry["shell_status"])

	begin("gone", "true")
	r.over("gone")
	result := r.call("stop_bash", args{"shellId": "gone"})
	assert.False(t, result.IsError)
	assert.Equal(t, "<detached command with shellId: gone is gone already: nothing was stopped>", result.Text)
	assert.Equal(t, "already_gone", details(t, result).Telemetry["shell_status"])
}

func TestR234_AStopOfNothingSucceeds(t *testing.T) {
	r := newRig(t)
	stop := func(id string) (text, status string) {
		result := r.call("stop_bash", args{"shellId": id})
		assert.False(t, result.IsError)
		return result.Text, details(t, result).Telemetry["shell_status"]
	}
	text, status := stop("never")
	assert.Equal(t, "Invalid shell id never: no such shell was ever created, so there is nothing to stop.\n<no active shell sessions>", text)
	assert.Equal(t, "never_created", status)
	r.sync("true")
	_, status = stop("0")
	assert.Equal(t, "already_completed", status)
	r.sync("exit 3")
	_, status = stop("1")
	assert.Equal(t, "error_shutdown", status)
	r.async("a", "true")
	_, status = stop("a")
	assert.Equal(t, "stopped", status)
	_, status = stop("a")
	assert.Equal(t, "already_stopped", status)
	r.async("b", "true")
	r.over("b")
	r.reclaims()
	_, status = stop("b")
	assert.Equal(t, "expired", status)
	assert.Equal(t, map[string]int64{
		"stop/shell_unknown": 1, "stop/shell_completed": 1, "stop/shell_error_shutdown": 1, "stop/stopped": 1, "stop/shell_stopped": 1, "stop/shell_not_found": 1,
	}, r.listed().Counts)
}

func TestR235_TheList(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := rigOn(t, detaching(t), func(o *Options) { o.Now = func() time.Time { return now } })
	list := func() string {
		text := r.call("list_bash", args{}).Text
		for _, e := range r.all() {
			if job, err := dialect.Job(context.Background(), r.options.Host, e.job()); err == nil {
				text = strings.ReplaceAll(text, "pid: "+strconv.Itoa(job.PID)+",", "pid: P,")
			}
		}
		return text
	}
	assert.Equal(t, "<no active shell sessions>", list())
	r.async("a", "true")
	r.over("a")
	r.read("a", 1)
	r.async("a", "echo first line\nread _")
	r.wrote("a", "first line")
	r.call("bash", args{"command": "echo hi; exit 3", "description": "", "mode": "async", "detach": true, "shellId": "d"})
	r.over("d")
	now = now.Add(90 * time.Second)
	assert.Equal(t, "- shellId: a, pid: P, mode: async, attachment: attached, status: running, elapsed: 90 s, commands: 2, unread output: yes\n"+
		"  command: echo first line …\n"+
		"- shellId: d, pid: P, mode: async, attachment: detached, status: completed with exit code 3, elapsed: 0 s, commands: 1, unread output: yes\n"+
		"  command: echo hi; exit 3", list())
	r.read("a", 0)
	r.read("d", 0)
	assert.Equal(t, 2, strings.Count(list(), "unread output: no"))
	r.call("stop_bash", args{"shellId": "a"})
	assert.NotContains(t, list(), "id: a")
	assert.Contains(t, Listed{ID: "x"}.Text(), "pid: unknown")
}

func TestR236_MissingShellsAreClassified(t *testing.T) {
	r := newRig(t)
	r.async("live", "sleep 1000")
	active := "\nActive shell sessions:\n- live: running"
	missing := func(id string) (string, Category) {
		result := r.read(id, 1)
		assert.True(t, result.IsError)
		text, ok := strings.CutSuffix(result.Text, active)
		assert.True(t, ok, result.Text)
		assert.Contains(t, text, id)
		return text, Category(details(t, result).Telemetry["shell_error_category"])
	}
	check := func(id string, category Category, text string) {
		got, of := missing(id)
		assert.Equal(t, text, got)
		assert.Equal(t, category, of)
	}
	r.async("s", "sleep 1000")
	r.call("stop_bash", args{"shellId": "s"})
	check("s", ShellStopped, "The shell with id s was stopped.")

	r.async("e", "exit 4")
	r.over("e")
	r.read("e", 1) // what it has left is shown first
	check("e", ShellErrorShutdown, "The shell with id e was shut down: its command exited with code 4.")

	r.async("k", "sleep 1000")
	_, err := host.Ask(context.Background(), r.options.Host, messages.StopCommand{Job: r.job("k")})
	require.NoError(t, err)
	r.over("k")
	r.read("k", 1)
	check("k", ShellErrorShutdown, "The shell with id k was shut down by an error of its command.")

	id := details(t, r.sync("(exit 5)")).ShellID
	check(id, ShellCompleted, "The shell with id "+id+" has completed with exit code 5.")

	r.async("i", "true")
	r.over("i")
	r.reclaims()
	r.read("i", 1)
	check("i", ShellNotFound, "The shell with id i was reclaimed, since it was not used.")
	check("never", ShellUnknown, "Invalid shell id never: no such shell was ever created, so there is nothing to read.")
	assert.Contains(t, r.write("never", "x").Text, "so there is nothing to send input to.")
	assert.Equal(t, Missing{Category: ShellNotFound, Text: "The shell with id 7 is no longer available.", Diagnostic: "given, and no end is known"}, Classify("7", verbRead, nil, true))
	assert.Equal(t, "never given", Classify("7", verbRead, nil, false).Diagnostic)
	assert.Equal(t, "The shell with id 7 has completed.", Classify("7", verbRead, &Shutdown{Reason: ReasonCompleted}, true).Text)

	var reasons []Reason
	for _, end := range r.listed().RecentShutdowns {
		reasons = append(reasons, end.Reason)
	}
	assert.Equal(t, []Reason{"stopped", "error", "error", "completed", "auto-cleanup"}, reasons)
	end := r.listed().RecentShutdowns[3]
	assert.Equal(t, []any{5, len("(exit 5)"), hash("(exit 5)")}, []any{*end.ExitCode, end.CommandLength, end.CommandHash})
	for i := range 2 * mostShutdowns {
		r.mu.Lock()
		r.remember(Shutdown{ShellID: strconv.Itoa(1000 + i)})
		r.mu.Unlock()
	}
	ends := r.listed().RecentShutdowns
	assert.Len(t, ends, 100)
	assert.Equal(t, "1199", ends[99].ShellID)
}

func TestR237_WhatIsCountedOfMissingShells(t *testing.T) {
	var logged bytes.Buffer
	r := newRig(t, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&logged, nil)) })
	secret := "sleep 1000; : my-secret-command"
	r.async("a", secret)
	r.call("stop_bash", args{"shellId": "a"})
	for operation, result := range map[string]func() Details{
		"read":  func() Details { return details(t, r.read("a", 1)) },
		"write": func() Details { return details(t, r.write("a", "x")) },
		"stop":  func() Details { return details(t, r.call("stop_bash", args{"shellId": "a"})) },
	} {
		logged.Reset()
		got := result().Telemetry
		assert.Equal(t, "shell_stopped", got["shell_error_category"])
		assert.Equal(t, operation, got["shell_operation"])
		assert.Contains(t, logged.String(), "shell_error_category=shell_stopped shell_operation="+operation)
		assert.Contains(t, logged.String(), `diagnostic="stopped, command `+hash(secret)[:12]+` of 31 bytes"`)
		assert.NotContains(t, logged.String(), "secret")
		assert.Equal(t, int64(1), r.listed().Counts[operation+"/shell_stopped"])
	}
}

// A host that goes away takes no call along: what became of a command is not known, and
// that is said.
func TestTheHostGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, h := playedRig(t)
		r.async("a", "x")
		h.writes(<-h.first, "some")
		close(h.away)
		assert.Equal(t, `The command "a test" (id a) exited with code unknown. Use read_bash with this id to get its output.`, r.notice().Text)
		unreadable := r.read("a", 1)
		assert.True(t, unreadable.IsError)
		assert.Equal(t, "The output cannot be read.\nthe host has gone", unreadable.Text)
		r.call("list_bash", args{})
		assert.Equal(t, StatusFailed, r.listed().Shells[0].Status)
	})
}

func TestTheRestOfTheTexts(t *testing.T) {
	for outcomeOf, want := range map[messages.Outcome]string{
		messages.TimedOut: "it ran out of time", messages.Lost: "what became of it is not known", messages.Cancelled: "it was stopped",
	} {
		_, why := outcome(messages.Record{End: messages.End{Outcome: outcomeOf}})
		assert.Equal(t, want, why)
	}
	assert.Contains(t, Listed{Ended: true, Status: StatusFailed, Why: "it broke"}.Text(), "status: failed: it broke,")
	assert.Contains(t, Listed{Ended: true, Status: StatusCancelled}.Text(), "status: stopped,")
	assert.Equal(t, "shellId must be one line of at most 128 bytes", ShellID("a\nb").check().Message)
	assert.Nil(t, ShellID(strings.Repeat("x", 128)).check())
	assert.NotNil(t, ShellID(strings.Repeat("x", 129)).check())
	synctest.Test(t, func(t *testing.T) {
		r, h := playedRig(t)
		r.beside.Go(func() {
			h.end(<-h.first, messages.Record{End: messages.End{Outcome: messages.Exited}, Flags: []messages.Flag{messages.FlagReplaced}})
		})
		assert.Equal(t, "The shell had ended and was made anew: directory, variables and functions from before are lost.\n<exited with exit code 0>", r.sync("x").Text)
	})
}
