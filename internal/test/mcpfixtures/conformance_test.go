package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// suite is the conformance suite of MCP, as its authors publish it.
type suite struct {
	node, script string
	known        map[string]string // by "2026-07-28 tools-list": why it fails
}

// TestMain makes the test binary stand for the program.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mcpfixtures": main})
}

// served starts the program and returns the URL that it prints. At the end of the test
// the program exits with status 0 after SIGTERM.
func served(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("mcpfixtures")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait())
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(url)
}

// extensions is where the scenarios stand that belong to no revision, but to an
// extension. One that the server does not declare is not checked by its scenarios.
const extensions = "extension"

// Every scenario of every revision that the suite knows passes, but for those in
// testdata/conformance.txt.
func TestConformanceOfMCP(t *testing.T) {
	node, modules := need.Node(t)
	s := &suite{node: node, script: filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js"), known: knownFailures(t)}
	scenarios := s.list(t)
	for _, revision := range []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", extensions} {
		require.NotEmpty(t, scenarios[revision], "the suite knows no scenario of %s", revision)
	}
	for which := range s.known {
		revision, name, _ := strings.Cut(which, " ")
		require.Contains(t, scenarios[revision], name, "the list of known failures names what is not there")
	}
	for revision, names := range scenarios {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			url, results := served(t), t.TempDir()
			if revision != extensions {
				s.run(t, "server", "--url", url, "--suite", "all", "--spec-version", revision, "-o", results)
			}
			for _, name := range names {
				t.Run(name, func(t *testing.T) {
					if revision == extensions {
						s.run(t, "server", "--url", url, "--scenario", name, "-o", results)
					}
					if wrong := s.judge(revision+" "+name, faults(t, results, name)); wrong != "" {
						t.Error(wrong)
					}
				})
			}
		})
	}
}

// The program serves its fixtures, also on a machine without the suite.
func TestTheProgramServesItsFixtures(t *testing.T) {
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: served(t), MaxRetries: -1}, nil)
	require.NoError(t, err)
	defer session.Close()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "Ann"}})
	require.NoError(t, err)
	require.Equal(t, "Hello, Ann!", result.Content[0].(*mcp.TextContent).Text)
}

// run runs the suite. Its exit status says no more than its results.
func (s *suite) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.node, append([]string{s.script}, args...)...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatal(err)
	}
	return string(out)
}

// list gives the scenarios of each revision.
func (s *suite) list(t *testing.T) map[string][]string {
	t.Helper()
	scenarios := map[string][]string{}
	row := regexp.MustCompile(`(?m)^\s+- (\S+) \[(.+)\]$`)
	for _, m := range row.FindAllStringSubmatch(s.run(t, "list", "--server"), -1) {
		for _, revision := range strings.Split(m[2], ",") {
			scenarios[revision] = append(scenarios[revision], m[1])
		}
	}
	return scenarios
}

// judge is what is wrong after what a scenario found, "" if it is as known.
func (s *suite) judge(which string, faults []string) string {
	_, known := s.known[which]
	switch {
	case known && len(faults) == 0:
		return which + " passes: it must leave testdata/conformance.txt"
	case known:
		return ""
	}
	return strings.Join(faults, "\n")
}

// faults are what a scenario found wrong.
func faults(t *testing.T, results, name string) []string {
	t.Helper()
	// server-NAME-2026-11-23T00-03-01-572Z
	files, err := filepath.Glob(filepath.Join(results, "server-"+name+"-[0-9][0-9][0-9][0-9]-*", "checks.json"))
	require.NoError(t, err)
	require.Len(t, files, 1, "the scenario has no result")
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	var checks []struct{ ID, Status, Description, ErrorMessage string }
	require.NoError(t, json.Unmarshal(text, &checks))
	require.NotEmpty(t, checks)
	var found []string
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS", "INFO":
		case "SKIPPED":
			t.Logf("%s does not apply: %s", c.ID, c.ErrorMessage)
		default:
			found = append(found, c.Status+" "+c.ID+": "+c.Description+": "+c.ErrorMessage)
		}
	}
	return found
}

// knownFailures reads the list of scenarios that fail.
func knownFailures(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/conformance.txt")
	require.NoError(t, err)
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		require.GreaterOrEqual(t, len(words), 3, "want a revision, a scenario and a reason: %q", line)
		known[words[0]+" "+words[1]] = strings.Join(words[2:], " ")
	}
	return known
}

// A list that excuses what passes would hide what comes later.
func TestConformanceJudgesKnownFailures(t *testing.T) {
	s := &suite{known: map[string]string{"r a": "a reason"}}
	for _, c := range []struct {
		which  string
		faults []string
		fails  bool
	}{
		{"r a", []string{"wrong"}, false},
		{"r a", nil, true},
		{"r b", []string{"wrong"}, true},
		{"r b", nil, false},
	} {
		require.Equal(t, c.fails, s.judge(c.which, c.faults) != "", "%s with %d faults", c.which, len(c.faults))
	}
}
