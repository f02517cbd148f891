package copilot

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
	"troupe/internal/test/dialect"
)

func updating(n *int, end *string) func(dialect.Result) {
	return func(r dialect.Result) {
		*n++
		*end = r.Text
	}
}

// transcript is what a model and its client get of calls.
type transcript struct {
	r *rig
	b strings.Builder
}

func (s *transcript) call(tool string, arguments args) {
	s.r.t.Helper()
	given, err := json.Marshal(arguments)
	require.NoError(s.r.t, err)
	result := s.r.call(tool, arguments)
	shown, err := json.MarshalIndent(result.Details, "", "  ")
	require.NoError(s.r.t, err)
	fmt.Fprintf(&s.b, "==> %s %s\n%s\n", tool, given, result.Text)
	if result.IsError {
		s.b.WriteString("(is an error)\n")
	}
	fmt.Fprintf(&s.b, "%s\n\n", shown)
}

// told is the next notice.
func (s *transcript) told() {
	n := s.r.notice()
	fmt.Fprintf(&s.b, "==> notice %s\n%s\n(%s)\n\n", jsonOf(s.r.t, n), n.Text, n.Short)
}

func (s *transcript) check(name string) {
	s.r.t.Helper()
	dialecttest.Golden(s.r.t, "copilot/"+name+".txt", s.b.String(),
		dialecttest.Scrub{What: regexp.MustCompile(regexp.QuoteMeta(s.r.dir)), By: "DIR"},
		dialecttest.Scrub{What: regexp.MustCompile(regexp.QuoteMeta(s.r.files)), By: "FILES"},
		dialecttest.Scrub{What: regexp.MustCompile(`("pid": )\d+`), By: "${1}PID"},
		dialecttest.Scrub{What: regexp.MustCompile(`pid: \d+`), By: "pid: PID"},
		dialecttest.Scrub{What: regexp.MustCompile(`elapsed: \d+ s`), By: "elapsed: N s"},
		dialecttest.Scrub{What: regexp.MustCompile(`\d{4}-\d\d-\d\dT[^"]+`), By: "TIME"},
		dialecttest.Scrub{What: regexp.MustCompile(`(detached-\w+-)\d{13}`), By: "${1}MS"},
		dialecttest.Scrub{What: regexp.MustCompile(`(output-)\d{13}-[a-z0-9]{6}`), By: "${1}MS-RAND"},
		dialecttest.Scrub{What: regexp.MustCompile(`/\S+/text: line`), By: "TEXT: line"},
		dialecttest.Scrub{What: regexp.MustCompile(`("outputBytes": )[23]\d\d\b`), By: "${1}N"}, // of a line with such a path
		dialecttest.Scrub{What: regexp.MustCompile(`after [0-9.]+ seconds\. Answer`), By: "after N seconds. Answer"},
	)
}

func TestTranscripts(t *testing.T) {
	for name, changes := range map[string][]with{"pty": nil, "process": {spawned}} {
		t.Run(name, func(t *testing.T) {
			s := &transcript{r: rigOn(t, detaching(t), append(changes, late(500*time.Millisecond, map[string]string{"echo building; sleep 1000": "building"}))...)}
			bash := func(a args) { s.call("bash", a) }
			bash(args{"command": "echo hello; ls /no/such", "description": "Say hello"})
			bash(args{"command": "if then", "description": "Make a mistake"})
			bash(args{"command": "exit 3", "description": "Leave"})
			bash(args{"command": "seq 10000", "description": "Count"})
			bash(args{"command": "killall node", "description": "Stop the server"})
			bash(args{"command": "echo building; sleep 1000", "description": "Build"})
			bash(args{"command": "cd /usr && V=5", "description": "Enter", "mode": "async", "shellId": "work"})
			s.told()
			bash(args{"command": "echo ${PWD##*/} $V", "description": "Look", "mode": "async", "shellId": "work"})
			s.told()
			s.call("read_bash", args{"shellId": "work", "delay": 1})
			bash(args{"command": "echo server is up; exit 3", "description": "Serve", "mode": "async", "detach": true, "shellId": "server"})
			s.told()
			s.call("read_bash", args{"shellId": "server", "delay": 1})
			call := s.r.inBackground("echo testing; sleep 1000")
			s.r.promotable("5")
			s.r.wrote("5", "testing")
			s.r.promote("5")
			fmt.Fprintf(&s.b, "==> (promoted by the user)\n%s\n\n", (<-call).Text)
			s.call("read_bash", args{"shellId": "5", "delay": 60})
			s.call("list_bash", args{})
			s.call("stop_bash", args{"shellId": "4"})
			s.call("read_bash", args{"shellId": "4", "delay": 1})
			s.call("stop_bash", args{"shellId": "nothing"})
			s.call("read_bash", args{"shellId": "work", "delay": 700})
			s.check(name)
		})
	}
	t.Run("tools", func(t *testing.T) {
		s := &transcript{r: newRig(t)}
		for _, session := range []*Session{s.r.Session, newRig(t, spawned).Session} {
			for _, tool := range session.Tools() {
				var schema any
				require.NoError(t, json.Unmarshal(tool.Schema, &schema))
				shown, err := json.MarshalIndent(schema, "", "  ")
				require.NoError(t, err)
				fmt.Fprintf(&s.b, "==> %s (%s)\n%s\n%s\n\n", tool.Name, tool.Title, tool.Description, shown)
			}
		}
		s.check("tools")
	})
	t.Run("input", func(t *testing.T) {
		asks := `read -rp 'Continue? [y/N] ' a; echo "you said $a"`
		s := &transcript{r: newRig(t, late(500*time.Millisecond, map[string]string{asks: "[y/N] "}))}
		s.call("bash", args{"command": asks, "description": "Ask"})
		s.call("write_bash", args{"shellId": "0", "input": "yes{backspace}{enter}", "delay": 10})
		s.call("write_bash", args{"shellId": "0", "input": "again{enter}", "delay": 10})
		s.check("input")
	})
}
