package omp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/internal/test/dialect"
)

// transcript calls tools one by one, and writes what a front end gets of them.
type transcript struct {
	*rig
	strings.Builder
}

func (s *transcript) call(tool string, arguments args) dialect.Result {
	encoded, err := json.Marshal(arguments)
	require.NoError(s.t, err)
	result, err := s.rig.call(context.Background(), tool, arguments, nil)
	require.NoError(s.t, err)
	fmt.Fprintf(s, "> %s %s\n%s\n", tool, encoded, folded(result.Text))
	if result.IsError {
		fmt.Fprintln(s, "--- error")
	}
	if result.Details != nil {
		text, err := json.Marshal(result.Details)
		require.NoError(s.t, err)
		fmt.Fprintf(s, "--- %s\n", text)
	}
	fmt.Fprintln(s)
	return result
}

// delivered writes what the session is told beside its calls.
func (s *transcript) delivered() {
	d := <-s.told
	text, err := json.Marshal(d.Details)
	require.NoError(s.t, err)
	fmt.Fprintf(s, "< %s\n%s\n--- %s\n\n", d.CustomType, folded(d.Text), text)
}

// folded leaves out the middle of a long text: nobody reads it.
func folded(text string) string {
	all := strings.Split(text, "\n")
	if len(all) < 30 {
		return text
	}
	return strings.Join(all[:3], "\n") + fmt.Sprintf("\n(%d lines)\n", len(all)-10) + strings.Join(all[len(all)-7:], "\n")
}

func (s *transcript) golden(name string) {
	s.t.Helper()
	scrubs := []dialecttest.Scrub{
		{What: regexp.MustCompile(regexp.QuoteMeta(s.dir)), By: "/session"},
		{What: regexp.MustCompile(`/\S*/troupe-shell-[^/]+/text`), By: "/the/text"},
		{What: regexp.MustCompile(`Wall time: \d+\.\d\d`), By: "Wall time: #.##"},
		{What: regexp.MustCompile(`"(wallTimeMs|durationMs)":\d+`), By: `"$1":#`},
	}
	dialecttest.Golden(s.t, "omp/"+name, s.String(), scrubs...)
}

func TestGoldenBash(t *testing.T) {
	for name, change := range map[string]with{
		"shell.txt": func(*Options, *JobsOptions) {},
		"alone.txt": settings(func(s *Settings) { s.OneShot = true }),
	} {
		t.Run(name, func(t *testing.T) {
			s := &transcript{rig: newRig(t, change)}
			require.NoError(t, os.Mkdir(filepath.Join(s.dir, "sub"), 0o700))
			for _, a := range []args{
				{"command": "echo out; echo err >&2"},
				{"command": "true"},
				{"command": "export STATE=kept; cd sub"},
				{"command": "echo $STATE; pwd"},
				{"command": "cd sub && pwd"},
				{"command": `printf '%s\n' "$GREETING"`, "env": args{"GREETING": "it's $HOME"}},
				{"command": "ls missing"},
				{"command": "no-such-program"},
				{"command": "echo 'unterminated"},
				{"command": "kill -KILL $$"},
				{"command": "echo again"},
				{"command": "echo begun; sleep 60", "timeout": 0.2},
				{"command": "seq 20000", "timeout": 7200},
				{"command": "seq 20000; exit 1"},
				{"command": "seq 20000 | tail -n 3"},
				{"command": "yes | head -n 2"},
				{"command": `printf '\033[1mbold\033[0m\r\n50%%\r100%%\n'`},
				{"command": "pwd", "cwd": "missing"},
				{"command": "true", "env": args{"NOT-A-NAME": "x"}},
				{"command": "true", "async": true},
				{"command": "cat artifact://0 | wc -c"},
				{"command": "cat artifact://77"},
				{"command": "true", "colour": "red"},
			} {
				s.call("bash", a)
			}
			s.golden(name)
		})
	}
}

func TestGoldenInterceptor(t *testing.T) {
	s := &transcript{rig: newRig(t, async, settings(func(s *Settings) { s.Interceptor = true }), func(o *Options, _ *JobsOptions) {
		o.Tools = []string{"bash", "read", "search", "find", "edit", "write"}
	})}
	for _, command := range []string{
		"cat main.go", "rg TODO", "find . -name '*.go'", "sed -i s/a/b/ x", "echo x > y", "nohup make", "make &", `echo "a > b"`,
	} {
		s.call("bash", args{"command": command})
	}
	s.golden("interceptor.txt")
	require.NotEmpty(t, shelltext.DefaultRules(""))
}

func TestGoldenJobs(t *testing.T) {
	s := &transcript{rig: newRig(t, async, autoBackground(time.Minute))}
	first, second := s.gate("first"), s.gate("second")
	building := s.late("echo building; "+first.wait()+"; echo built", "building")
	s.call("bash", args{"command": "echo quick"})
	s.call("bash", args{"command": building})
	s.call("bash", args{"command": second.wait() + "; echo broken; exit 2", "async": true, "timeout": 9000})
	s.call("bash", args{"command": "sleep 60", "async": true})
	s.call("job", args{"list": true})
	s.call("job", args{"cancel": []string{"bg_4", "bg_9"}})
	first.open()
	s.delivered()
	s.beside.Go(second.open)
	s.call("job", args{"poll": []string{"bg_3"}})
	s.call("job", args{})
	s.call("job", args{"poll": []string{"bg_9"}})
	s.call("job", args{"list": true, "poll": []string{"bg_3"}})
	s.golden("jobs.txt")
}
