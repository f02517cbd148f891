package copilot

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
)

func names(s *Session) []string {
	var all []string
	for _, t := range s.Tools() {
		all = append(all, t.Name)
	}
	return all
}

func schemaOf(t *testing.T, s *Session, tool string) map[string]any {
	t.Helper()
	for _, of := range s.Tools() {
		if of.Name == tool {
			var schema map[string]any
			require.NoError(t, json.Unmarshal(of.Schema, &schema))
			return schema
		}
	}
	t.Fatalf("there is no tool %s", tool)
	return nil
}

func TestR188_WriteIsThereWhereInputCanBeGiven(t *testing.T) {
	assert.Equal(t, []string{"bash", "read_bash", "write_bash", "stop_bash", "list_bash"}, names(newRig(t).Session))
	assert.Equal(t, []string{"bash", "read_bash", "stop_bash", "list_bash"}, names(newRig(t, spawned).Session))
	powershell := settings(func(s *Settings) { s.Shell = PowerShell() })
	assert.Equal(t, []string{"powershell", "read_powershell", "write_powershell", "stop_powershell", "list_powershell"}, names(newRig(t, powershell).Session))
	assert.Equal(t, []string{"powershell", "read_powershell", "stop_powershell", "list_powershell"}, names(newRig(t, powershell, spawned).Session))
}

func TestR189_TheParametersOfBash(t *testing.T) {
	r := newRig(t)
	schema := schemaOf(t, r.Session, "bash")
	properties := schema["properties"].(map[string]any)
	assert.Len(t, properties, 6)
	for _, name := range []string{"command", "description", "shellId", "mode", "detach", "initial_wait"} {
		assert.Contains(t, properties, name)
	}
	assert.Equal(t, []any{"command"}, schema["required"])
	assert.Equal(t, []any{"sync", "async"}, properties["mode"].(map[string]any)["enum"])
	assert.Contains(t, properties["description"].(map[string]any)["description"], "100")

	assert.Equal(t, "command is required", r.call("bash", args{"description": "d"}).Text)
	assert.Equal(t, "here\n<exited with exit code 0>", r.call("bash", args{"command": "echo here"}).Text, "as later versions call it")
	assert.Equal(t, `mode is "later"; it must be sync or async`, r.call("bash", args{"command": "true", "description": "", "mode": "later"}).Text)
	bad := r.call("bash", args{"command": "true", "description": "", "wait": 1})
	assert.True(t, bad.IsError)
	assert.Equal(t, `there is no parameter "wait"`, bad.Text)
	assert.Equal(t, "hi\n<exited with exit code 0>", r.call("bash", args{"command": "echo hi", "description": strings.Repeat("d", 200)}).Text)

	r.call("bash", args{"command": "true", "description": "", "mode": "async", "shellId": 77})
	assert.Contains(t, r.listed().Sessions, "77") // a number becomes a string
	noID := r.call("bash", args{"command": "true", "description": "", "shellId": true})
	assert.True(t, noID.IsError)
	assert.Contains(t, noID.Text, "shellId is true; it must be a string")
	assert.True(t, r.call("bash", args{"command": "true", "description": "", "shellId": "a\nb"}).IsError)
}

func TestR190_TheParametersOfTheOtherTools(t *testing.T) {
	r := newRig(t)
	for tool, want := range map[string]struct{ all, required []string }{
		"write_bash": {[]string{"shellId", "input", "delay"}, []string{"shellId", "delay"}},
		"read_bash":  {[]string{"shellId", "delay"}, []string{"shellId", "delay"}},
		"stop_bash":  {[]string{"shellId"}, []string{"shellId"}},
		"list_bash":  {[]string{}, nil},
	} {
		schema := schemaOf(t, r.Session, tool)
		var all, required []string
		for name := range schema["properties"].(map[string]any) {
			all = append(all, name)
		}
		if list, ok := schema["required"].([]any); ok {
			for _, name := range list {
				required = append(required, name.(string))
			}
		}
		assert.ElementsMatch(t, want.all, all, tool)
		assert.ElementsMatch(t, want.required, required, tool)
	}
	assert.Equal(t, "delay is required", r.call("read_bash", args{"shellId": "0"}).Text)
	assert.Equal(t, "delay is required", r.call("write_bash", args{"shellId": "0", "input": "x"}).Text)
	assert.True(t, r.call("list_bash", args{"shellId": "0"}).IsError)
}

func TestR191_TheInitialWait(t *testing.T) {
	of := func(mode string, wait ...float64) time.Duration {
		p := ExecuteParams{Mode: mode}
		if len(wait) > 0 {
			p.InitialWait = &wait[0]
		}
		return p.Wait(10 * time.Second)
	}
	assert.Equal(t, 10*time.Second, of("sync"))
	assert.Equal(t, 10*time.Second, of("", 3))
	assert.Equal(t, 30500*time.Millisecond, of("sync", 30.5))
	assert.Equal(t, 600*time.Second, of("sync", 601))
	assert.Equal(t, 600*time.Second, of("sync", 1e300))
	assert.Equal(t, time.Duration(0), of("async"))
	assert.Equal(t, time.Duration(0), of("async", 10))
	assert.Equal(t, 20*time.Second, of("async", 20))

	r := newRig(t)
	for _, wait := range []float64{0, -1.5} {
		bad := r.call("bash", args{"command": "true", "description": "", "initial_wait": wait})
		assert.True(t, bad.IsError)
		assert.Equal(t, "initial_wait is "+number(wait)+"; it must be more than 0 and at most 600 seconds (0..600)", bad.Text)
	}
	synctest.Test(t, func(t *testing.T) {
		r, h := playedRig(t)
		began := time.Now()
		text := r.call("bash", args{"command": "sleep 1000", "description": "", "initial_wait": 700}).Text
		assert.Equal(t, 600*time.Second, time.Since(began))
		assert.Contains(t, text, "is still running after 600 seconds")
		began = time.Now()
		r.call("bash", args{"command": "sleep 1000", "description": "", "initial_wait": 1})
		assert.Equal(t, 10*time.Second, time.Since(began))
		for len(h.first) > 0 {
			h.exits(<-h.first, 0)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r, h := playedRig(t, settings(func(s *Settings) { s.InitialWait = 42 * time.Second }))
		began := time.Now()
		r.sync("sleep 1000")
		assert.Equal(t, 42*time.Second, time.Since(began))
		h.exits(<-h.first, 0)
	})
}

func TestR192_AnEmptyCommandIsRefused(t *testing.T) {
	r := newRig(t)
	for _, empty := range []string{"", "  \n\t"} {
		bad := r.sync(empty)
		assert.True(t, bad.IsError)
		assert.Equal(t, "The command is empty. Give the command to run.", bad.Text)
	}
	assert.Empty(t, r.all())
}

func TestR204_KillingByNameIsNotExecuted(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, append(changes, func(o *Options) {
			o.Protected.Self, o.Protected.Ancestors = 123456, []int{654321}
		})...)
		for command, text := range map[string]string{
			"true; pkill x": "pkill is not executed: it ends processes by name, whoever they belong to. Use kill <PID> instead.",
			"killall -9 x":  "killall is not executed: it ends processes by name, whoever they belong to. Use kill <PID> instead.",
			"kill $X":       "kill needs at least one numeric PID. Usage: kill [-<signal>] <PID>...",
			"kill 123456":   "kill 123456 is not executed: it would end this tool's own process.",
			"kill 654321":   "kill 654321 is not executed: it would end an ancestor of this tool's own process.",
		} {
			result := r.sync(command)
			assert.True(t, result.IsError, command)
			assert.Equal(t, text, result.Text)
		}
		assert.Equal(t, "pkill killall kill\n<exited with exit code 0>", r.sync(`echo pkill 'killall' kill`).Text)
		assert.Empty(t, r.all())
	})
}

func TestR205_HiddenExpansionsAreBlocked(t *testing.T) {
	r := newRig(t)
	for command, pattern := range map[string]string{`echo "${x@P}"`: "${x@P}", "echo ${!x}": "${!x}", "$(echo $(echo rm)) x": "$(echo $(echo rm))"} {
		result := r.sync(command)
		assert.True(t, result.IsError)
		assert.Equal(t, pattern+" is not executed: this kind of expansion can run commands that nobody sees. Write the command out.", result.Text)
	}
}

func TestR206_JobsKnowTheirSession(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		text := newRig(t, changes...).sync(`[ -n "$TROUPE_SESSION_ID" ] && echo "$COPILOT_AGENT_SESSION_ID"`).Text
		assert.Equal(t, "agent-1\n<exited with exit code 0>", text)
	})
}

func TestR208_TheConfigDecidesTheBackend(t *testing.T) {
	assert.Equal(t, Capabilities{}, newRig(t, spawned).can)
	assert.Equal(t, Capabilities{TTYSupport: true, TerminalInput: true}, newRig(t).can)

	config := Bash(true)
	assert.Equal(t, ToolNames{"bash", "read_bash", "write_bash", "stop_bash", "list_bash"}, config.Tools)
	assert.Equal(t, []string{"--norc", "--noprofile", "-c"}, config.Flags)
	assert.NotNil(t, config.Assess)
	assert.NotEmpty(t, config.Init)
	assert.Empty(t, Bash(false).Init)
}

func TestR210_PowerShellIsAConfig(t *testing.T) {
	config := PowerShell()
	argv, ok := config.argv("Get-Item x")
	require.True(t, ok)
	assert.Equal(t, []string{"pwsh", "-NoLogo", "-NoProfile", "-NonInteractive", "-Command"}, argv[:5])
	assert.Equal(t, "$global:LASTEXITCODE = 0\nGet-Item x\nif ($?) { exit 0 } elseif ($LASTEXITCODE) { exit $LASTEXITCODE } else { exit 1 }", argv[5])
	assert.Contains(t, config.Init, "function prompt { '' }")
	assert.Contains(t, config.Init, "UTF8Encoding")

	r := newRig(t, spawned, settings(func(s *Settings) { s.Shell = PowerShell() }))
	result := r.call("powershell", args{"command": "Write-Output hi", "description": "d"})
	if _, err := exec.LookPath("pwsh"); err != nil { // it goes all the way to the start
		assert.True(t, result.IsError)
		assert.Contains(t, result.Text, "pwsh")
		return
	}
	assert.Equal(t, "hi\n<exited with exit code 0>", result.Text)
}

// Models call tools at the same time; each answer is its own command's.
func TestCallsAtTheSameTime(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, changes...)
		results := make(chan [2]string, 8)
		for i := range 8 {
			r.beside.Go(func() {
				word := strings.Repeat("x", i+1)
				result, _ := r.Execute(context.Background(), params("echo "+word, "sync"), func(dialect.Result) {})
				results <- [2]string{word + "\n<exited with exit code 0>", result.Text}
			})
		}
		for range 8 {
			pair := <-results
			assert.Equal(t, pair[0], pair[1])
		}
		assert.Empty(t, r.listed().Sessions)
	})
}

func params(command, mode string) ExecuteParams {
	return ExecuteParams{Command: &command, Mode: mode}
}

var _ dialect.Host = (*played)(nil)

// What a host refuses is said, and leaves no shell behind.
func TestARefusedCommandLeavesNothing(t *testing.T) {
	both(t, func(t *testing.T, changes ...with) {
		r := newRig(t, append(changes, func(o *Options) { o.Dir = "/no/such/directory" })...)
		result := r.sync("true")
		assert.True(t, result.IsError)
		assert.Contains(t, result.Text, "/no/such/directory")
		assert.Equal(t, StatusFailed, details(t, result).Status)
		views := r.listed()
		assert.Empty(t, views.Sessions)
		assert.Empty(t, views.CurrentExecutions)
		assert.Equal(t, ReasonError, views.RecentShutdowns[0].Reason)
	})
}

// Whatever is typed, each key and each text becomes what it is, and nothing else.
func FuzzTyped(f *testing.F) {
	for _, seed := range []string{"", "{up}", "{", "{{up}", "a\r\n{enter}b", "{up", "\xff{down}", "{backspace}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		typed := string(Typed(input))
		if strings.Contains(typed, "\n") {
			t.Fatalf("%q: a line end is the key enter", input)
		}
		if len(typed) > len(input) {
			t.Fatalf("%q became %q", input, typed)
		}
		if !strings.Contains(input, "}") && typed != lines(input) {
			t.Fatalf("%q became %q", input, typed)
		}
	})
}

// An id is what was given, whatever JSON it was.
func FuzzShellID(f *testing.F) {
	for _, seed := range []string{`"a"`, `7`, `-0`, `1e3`, `null`, `"\ud800"`, `99999999999999999999`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var p StopParams
		if bad := dialect.Decode(json.RawMessage(`{"shellId":`+text+`}`), &p); bad != nil && bad.Message == "" {
			t.Fatal(text)
		}
	})
}
