package acp

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/omp"
)

// The command of a prompt runs in the terminal of a client that has some, and its result
// names the terminal.
func TestR137_ACommandRunsInTheClientsTerminal(t *testing.T) {
	remotely(t, func(t *testing.T, c *played) {
		id := c.prompts("!make")
		c.created("t1")
		wait := c.expect("terminal/wait_for_exit")
		require.Equal(t, object{"sessionId": c.session, "terminalId": "t1"}, wait.Params)
		c.reply(wait, object{"exitCode": 3, "signal": nil})
		c.reply(c.expect("terminal/output"), object{"output": "\x1b[1mno rule\x1b[m\n", "truncated": false, "exitStatus": object{"exitCode": 3}})
		c.reply(c.expect("terminal/release"), nil)
		end := c.update()
		require.Equal(t, "tool_call_update", end["sessionUpdate"])
		require.Equal(t, "failed", end["status"])
		require.Equal(t, []any{object{"type": "terminal", "terminalId": "t1"}}, end["content"])
		out := end["rawOutput"].(object)
		require.EqualValues(t, 3, out["exitCode"])
		require.Equal(t, "t1", out["details"].(object)["terminalId"])
		require.Contains(t, textOf(out), "no rule\n\n")
		require.Contains(t, textOf(out), "Command exited with code 3")
		c.stopped(id, "end_turn")
	})
}

// textOf returns the text of a rawOutput.
func textOf(out object) string {
	var all []string
	for _, b := range out["content"].([]any) {
		all = append(all, b.(object)["text"].(string))
	}
	return strings.Join(all, "")
}

func TestR138_ATerminalIsCreatedWithItsFields(t *testing.T) {
	remotely(t, func(t *testing.T, c *played) {
		id := c.prompts("cd /tmp && env")
		create := c.expect("terminal/create").Params
		require.Equal(t, c.session, create["sessionId"])
		require.Equal(t, "/tmp", create["cwd"])
		require.EqualValues(t, 50<<10, create["outputByteLimit"])
		require.Contains(t, create["env"], object{"name": "OMPCODE", "value": "1"})
		require.Contains(t, create["env"], object{"name": "TERM", "value": "dumb"}, "R-060")
		require.Len(t, create, 6)
		c.cancels()
		require.Equal(t, "tool_call", c.update()["sessionUpdate"])
		require.Equal(t, "failed", c.update()["status"])
		c.stopped(id, "cancelled")
	})
}

// A client runs command as a program: a line would not be found.
func TestR139_TheCommandIsAShellWithArguments(t *testing.T) {
	prefixed := func(o *omp.Options) { o.Settings.ShellPrefix = "nice" }
	remotely(t, func(t *testing.T, c *played) {
		id := c.prompts("yes | head -n 2")
		create := c.expect("terminal/create")
		require.Equal(t, "/bin/bash", create.Params["command"])
		require.Equal(t, []any{"-l", "-c", "nice yes | head -n 2"}, create.Params["args"], "nothing else would end yes")
		c.write(object{"id": create.ID, "error": object{"code": -32603, "message": "spawn ENOENT"}})
		require.Equal(t, "tool_call", c.update()["sessionUpdate"])
		end := c.update()
		require.Equal(t, "failed", end["status"])
		require.Contains(t, textOf(end["rawOutput"].(object)), "Command could not be started: spawn ENOENT")
		require.NotContains(t, end["rawOutput"], "exitCode")
		c.stopped(id, "end_turn")
	}, prefixed)
}

// The terminal is announced before its output is read, then read every 250 ms, whatever its
// client takes for a reply. Only news are reported.
func TestR140_TheOutputIsReadEvery250ms(t *testing.T) {
	remotely(t, func(t *testing.T, c *played) {
		id := c.prompts("make  all")
		c.reply(c.expect("terminal/create"), object{"terminalId": "t1"})
		begin := c.update()
		require.Equal(t, object{
			"sessionUpdate": "tool_call", "toolCallId": "call_1", "title": "$ make all", "kind": "execute", "status": "in_progress",
			"content": []any{object{"type": "terminal", "terminalId": "t1"}}, "rawInput": object{"command": "make  all"},
			"rawOutput": object{"content": []any{}, "details": object{"terminalId": "t1"}},
		}, begin)
		wait := c.expect("terminal/wait_for_exit")
		reads := func() heard {
			began := time.Now()
			read := c.expect("terminal/output")
			require.LessOrEqual(t, time.Since(began), pollEvery)
			return read
		}
		c.reply(reads(), object{"output": "", "truncated": false})
		c.reply(reads(), object{"output": "one\r\n", "truncated": false})
		news := c.update()
		require.Equal(t, object{"content": []any{object{"type": "text", "text": "one\n"}}, "details": object{"terminalId": "t1"}}, news["rawOutput"])
		require.NotContains(t, news, "content", "the client shows its terminal")
		c.reply(reads(), object{"output": "one\r\n", "truncated": false})
		slow := reads()
		time.Sleep(10 * pollEvery) // no second read before the reply
		c.reply(slow, object{"output": "one\r\ntwo\r\n", "truncated": false})
		require.Equal(t, "one\ntwo\n", textOf(c.update()["rawOutput"].(object)))
		c.reply(wait, object{"exitCode": 0})
		c.reply(c.expect("terminal/output"), object{"output": "one\r\ntwo\r\nthree\r\n", "truncated": false})
		c.expect("terminal/release")
		end := c.update()
		require.Equal(t, "completed", end["status"])
		require.True(t, strings.HasPrefix(textOf(end["rawOutput"].(object)), "one\ntwo\nthree\n\n"))
		require.EqualValues(t, 0, end["rawOutput"].(object)["exitCode"])
		c.stopped(id, "end_turn")
	})
}

// A command at its deadline is killed, and what it wrote is read after that.
func TestR141_ATimeoutKillsAndReadsTheOutput(t *testing.T) {
	remotely(t, func(t *testing.T, c *played) {
		id := c.prompts("sleep 600")
		c.created("t1")
		began := time.Now()
		c.expect("terminal/wait_for_exit")
		c.expect("terminal/output") // without a reply
		kill := c.expect("terminal/kill")
		require.Equal(t, 300*time.Second, time.Since(began))
		c.reply(kill, object{})
		c.reply(c.expect("terminal/output"), object{"output": "last words\n", "truncated": false, "exitStatus": object{"signal": "SIGTERM"}})
		c.reply(c.expect("terminal/release"), object{})
		end := c.update()
		require.Equal(t, "failed", end["status"])
		out := end["rawOutput"].(object)
		require.Equal(t, true, out["details"].(object)["timedOut"])
		require.Equal(t, "last words\n\nCommand timed out after 300 seconds", textOf(out))
		require.Equal(t, fenced("Command timed out after 300 seconds"), end["content"].([]any)[1])
		c.stopped(id, "end_turn")
	})
}

func fenced(text string) object {
	return object{"type": "content", "content": object{"type": "text", "text": "```\n" + text + "\n```"}}
}

// A command is killed as soon as its prompt is cancelled, although a read has no reply. The
// output of the last read remains if the final one has none, either.
func TestR141_AnAbortKillsAtOnceThoughAReadIsStuck(t *testing.T) {
	remotely(t, func(t *testing.T, c *played) {
		id := c.prompts("sleep 600")
		c.created("t1")
		c.expect("terminal/wait_for_exit")
		c.reply(c.expect("terminal/output"), object{"output": "begun\n", "truncated": false})
		c.update()
		stuck := c.expect("terminal/output")
		began := time.Now()
		c.cancels()
		kill := c.expect("terminal/kill")
		require.Zero(t, time.Since(began))
		c.reply(kill, nil)
		c.expect("terminal/output")
		c.expect("terminal/release")
		require.Equal(t, replyTime, time.Since(began))
		end := c.update()
		require.Equal(t, "failed", end["status"])
		require.Equal(t, "[Command cancelled]\nbegun", textOf(end["rawOutput"].(object)))
		c.stopped(id, "cancelled")
		c.reply(stuck, object{"output": "late", "truncated": false}) // means nothing any more
	})
}

// A kill or a release that fails is logged, and changes no result. What never answers holds
// nothing up for longer than its bound.
func TestR141_AFailedKillOrReleaseIsLogged(t *testing.T) {
	remotely(t, func(t *testing.T, c *played) {
		id := c.prompts("sleep 600")
		c.created("t1")
		c.expect("terminal/wait_for_exit")
		c.cancels()
		c.write(object{"id": c.expect("terminal/kill").ID, "error": object{"code": 1, "message": "no such process"}})
		c.reply(c.expect("terminal/output"), object{"output": "x", "truncated": false})
		c.write(object{"id": c.expect("terminal/release").ID, "error": object{"code": 1, "message": "unknown terminal"}})
		require.Equal(t, "failed", c.update()["status"])
		c.stopped(id, "cancelled")
		synctest.Wait()
		require.Contains(t, c.log.String(), "no such process")
		require.Contains(t, c.log.String(), "unknown terminal")

		id = c.prompts("sleep 600")
		c.created("t2")
		c.expect("terminal/wait_for_exit")
		began := time.Now()
		c.cancels()
		c.expect("terminal/kill")
		c.expect("terminal/output")
		c.expect("terminal/release")
		c.update()
		c.stopped(id, "cancelled")
		require.Equal(t, 2*replyTime, time.Since(began))
	})
}

// A signal without an exit code is 137; neither is a missing exit status.
func TestR142_HowACommandInTheClientsTerminalEnds(t *testing.T) {
	for _, k := range []struct {
		exit object
		code any // nil: none
		says string
	}{
		{object{"exitCode": 0, "signal": nil}, 0, "Wall time"},
		{object{"exitCode": 7}, 7, "Command exited with code 7"},
		{object{"exitCode": nil, "signal": "SIGTERM"}, 137, "Command exited with code 137"},
		{object{"signal": "9"}, 137, "Command exited with code 137"},
		{object{"exitCode": 3, "signal": "SIGTERM"}, 3, "Command exited with code 3"},
		{object{"exitCode": nil, "signal": nil}, nil, "Command failed: missing exit status"},
		{object{}, nil, "Command failed: missing exit status"},
	} {
		for _, by := range []string{"terminal/wait_for_exit", "terminal/output"} {
			remotely(t, func(t *testing.T, c *played) {
				id := c.prompts("x")
				c.created("t1")
				wait := c.expect("terminal/wait_for_exit")
				if by == "terminal/wait_for_exit" {
					c.reply(wait, k.exit)
				}
				c.reply(c.expect("terminal/output"), object{"output": "out", "truncated": false, "exitStatus": k.exit})
				for c.hear().Method != "terminal/release" { // the news of the read may come before it or not
				}
				end := c.result()
				out := end["rawOutput"].(object)
				require.Contains(t, textOf(out), k.says)
				if k.code == nil {
					require.NotContains(t, out, "exitCode")
					require.Equal(t, fenced(k.says), end["content"].([]any)[1], "no terminal shows it")
				} else {
					require.EqualValues(t, k.code, out["exitCode"])
					require.Len(t, end["content"], 1)
				}
				c.stopped(id, "end_turn")
			})
		}
	}
}

// What the client did not keep is said.
func TestR142_ACutOutputIsSaid(t *testing.T) {
	remotely(t, func(t *testing.T, c *played) {
		id := c.prompts("seq 100000")
		c.created("t1")
		c.reply(c.expect("terminal/wait_for_exit"), object{"exitCode": 0})
		c.reply(c.expect("terminal/output"), object{"output": "99999\n100000\n", "truncated": true})
		c.expect("terminal/release")
		text := textOf(c.update()["rawOutput"].(object))
		require.True(t, strings.HasPrefix(text, "99999\n100000\n\n"), text)
		require.Contains(t, text, "The client's terminal kept only the end of the output")
		c.stopped(id, "end_turn")
	})
}

// A terminal that comes when its prompt is cancelled already, or has timed out, is killed and
// released.
func TestR143_ALateTerminalIsKilledAndReleased(t *testing.T) {
	remotely(t, func(t *testing.T, c *played) {
		for _, reason := range []string{"cancelled", "end_turn"} {
			id := c.prompts("sleep 600")
			late := c.expect("terminal/create")
			if reason == "cancelled" {
				c.cancels()
			} // otherwise the deadline comes
			require.Equal(t, "tool_call", c.update()["sessionUpdate"])
			require.Equal(t, "failed", c.update()["status"])
			c.stopped(id, reason)
			time.Sleep(time.Hour)
			c.reply(late, object{"terminalId": "t1"})
			kill := c.expect("terminal/kill")
			require.Equal(t, object{"sessionId": c.session, "terminalId": "t1"}, kill.Params)
			c.reply(kill, object{})
			c.reply(c.expect("terminal/release"), object{})
		}
	})
}

// A client that creates no terminals is not asked for more than some, and its session works
// again when it has answered.
func TestLateTerminalsAreBounded(t *testing.T) {
	remotely(t, func(t *testing.T, c *played) {
		var late []heard
		for range maxLate {
			id := c.prompts("x")
			late = append(late, c.expect("terminal/create"))
			c.cancels()
			c.update()
			c.update()
			c.stopped(id, "cancelled")
		}
		id := c.prompts("x")
		c.update()
		require.Contains(t, textOf(c.update()["rawOutput"].(object)), "has not created 64 terminals")
		c.stopped(id, "end_turn")
		for _, create := range late {
			c.write(object{"id": create.ID, "error": object{"code": 1, "message": "no"}})
		}
		synctest.Wait()
		id = c.prompts("x")
		c.created("t1")
		c.reply(c.expect("terminal/wait_for_exit"), object{"exitCode": 0})
		c.reply(c.expect("terminal/output"), object{"output": "", "truncated": false})
		c.expect("terminal/release")
		c.update()
		c.stopped(id, "end_turn")
	})
}

// A client that can neither wait for a terminal nor read it is said to have lost it; one that
// can only read it is enough.
func TestATerminalThatTheClientDoesNotKnow(t *testing.T) {
	remotely(t, func(t *testing.T, c *played) {
		refuse := func(h heard) {
			c.write(object{"id": h.ID, "error": object{"code": -32601, "message": "no such method"}})
		}
		id := c.prompts("x")
		c.created("t1")
		refuse(c.expect("terminal/wait_for_exit"))
		c.reply(c.expect("terminal/output"), object{"output": "", "truncated": false})
		c.reply(c.expect("terminal/output"), object{"output": "", "truncated": false, "exitStatus": object{"exitCode": 4}})
		c.expect("terminal/release")
		require.EqualValues(t, 4, c.update()["rawOutput"].(object)["exitCode"])
		c.stopped(id, "end_turn")

		id = c.prompts("x")
		c.created("t2")
		c.reply(c.expect("terminal/wait_for_exit"), object{"exitCode": "four"})
		refuse(c.expect("terminal/output"))
		refuse(c.expect("terminal/kill"))
		refuse(c.expect("terminal/output"))
		c.expect("terminal/release")
		text := textOf(c.update()["rawOutput"].(object))
		require.Contains(t, text, "no such method")
		require.Contains(t, text, "Command failed: missing exit status")
		c.stopped(id, "end_turn")
	})
}

// At the end of the input a command in the client's terminal is killed and released, and its
// prompt answered, although nothing is answered any more.
func TestTheEndOfTheInputEndsTerminals(t *testing.T) {
	remotely(t, func(t *testing.T, c *played) {
		id := c.prompts("sleep 600")
		c.created("t1")
		c.expect("terminal/wait_for_exit")
		c.expect("terminal/output")
		began := time.Now()
		require.NoError(t, c.in.Close())
		c.expect("terminal/kill")
		c.expect("terminal/release")
		require.Equal(t, "failed", c.update()["status"])
		c.stopped(id, "cancelled")
		synctest.Wait()
		require.Zero(t, time.Since(began))
	})
}

// A signal ends the agent. The client may still say that it has ended the terminal.
func TestASignalEndsTerminals(t *testing.T) {
	remotely(t, func(t *testing.T, c *played) {
		id := c.prompts("sleep 600")
		c.created("t1")
		c.expect("terminal/wait_for_exit")
		late := c.opens()
		c.cancel()
		c.reply(c.expect("terminal/kill"), object{})
		c.reply(c.expect("terminal/output"), object{"output": "x", "truncated": false})
		c.reply(c.expect("terminal/release"), object{})
		require.Equal(t, "failed", c.update()["status"])
		c.stopped(id, "cancelled")
		require.ErrorContains(t, <-c.done, "canceled")
		require.NotEmpty(t, late)
		c.done <- nil
	})
}
