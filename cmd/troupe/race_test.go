package main

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// However a stop, a kill, the deadline and the exit of a job meet, it has one outcome
// with its cause, and every client gets an answer.
func TestStopExitAndTimeoutRace(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	outcomes := map[any]int{}
	for i := range 20 {
		some := func() string { return strconv.Itoa(10+rand.IntN(80)) + "ms" }
		id := "race" + strconv.Itoa(i)
		run := d.beside("run", "-b", "--name", id, "--timeout", some(), "--grace", "5ms", "sleep 0.0"+strconv.Itoa(10+rand.IntN(80))+"; exit 3").start()
		<-run.ended // a job that reaches its deadline before its start is reported as such
		waits := d.beside("wait", id).start()
		stops, kills := d.beside("stop", "--grace", "1ms", id).start(), d.beside("kill", id).start()
		stops.ends(0)
		kills.ends(0)
		<-waits.ended
		record := d.record(id)
		outcomes[record["outcome"]]++
		cause, _ := record["cause"].(map[string]any)
		switch outcome := record["outcome"]; outcome {
		case "exited":
			require.Nil(t, cause, i)
			require.InDelta(t, 3, record["exit_code"], 0, i)
			waits.ends(3)
		case "cancelled":
			require.Equal(t, "client", cause["by"], i)
			waits.ends(130)
		case "timed_out":
			require.Equal(t, "deadline", cause["by"], i)
			waits.ends(124)
		default:
			t.Fatalf("round %d: outcome %v", i, outcome)
		}
		p := d.beside("events", "--job", id, "--json", "--ends").start()
		finished := 0
		for line := range strings.Lines(p.rest()) {
			if strings.Contains(line, `"event":"command_finished"`) {
				finished++
			}
		}
		require.Equal(t, 1, finished, i)
	}
	t.Log(outcomes)
}

// A stop of a scope is for it and what is below it, and never for one whose name
// only begins the same.
func TestStopOfAScopeKnowsItsName(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	ids := map[string]string{}
	for _, scope := range []string{"a", "a/b", "ab", "a.b", "main"} {
		ids[scope] = d.beside("run", "-b", "--scope", scope, "exec sleep 600").start().line()
	}
	d.beside("stop", "--scope", "a").start().ends(0)
	for scope, state := range map[string]string{"a": "finished", "a/b": "finished", "ab": "running", "a.b": "running", "main": "running"} {
		require.Equal(t, state, d.record(ids[scope])["state"], scope)
	}
}
