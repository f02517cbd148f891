package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// step is one command of a console block, with the output that the document shows.
type step struct {
	command string
	shown   string
}

// codeBlocks returns the fenced blocks of a document that have this language.
func codeBlocks(doc, language string) []string {
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(doc, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// steps splits a console block: a line with "$ " is a command, the lines below it
// are its output.
func steps(t *testing.T, block string) []step {
	t.Helper()
	var all []step
	for line := range strings.Lines(block) {
		command, found := strings.CutPrefix(line, "$ ")
		switch {
		case found:
			all = append(all, step{command: strings.TrimSuffix(command, "\n")})
		case len(all) == 0:
			t.Fatalf("the block begins with output: %q", line)
		default:
			all[len(all)-1].shown += line
		}
	}
	return all
}

// masks hide what differs between two runs: process ids, times, sizes, ULIDs and the
// width of columns.
var masks = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`\S*/daemon\.sock`), "SOCKET"},
	{regexp.MustCompile(`\bd[a-z0-9]{6,}-1\b`), "DETACHED"},
	{regexp.MustCompile(`process \d+`), "process PID"},
	{regexp.MustCompile(`\b[0-9A-HJKMNP-TV-Z]{26}\b`), "ULID"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b`), "WHEN"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|s|m)\b`), "TIME"},
	{regexp.MustCompile(`\b\d+(\.\d+)? (B|KiB|MiB)\b`), "SIZE"},
	{regexp.MustCompile(`isolation \w+`), "isolation ISOLATION"},
	{regexp.MustCompile(`"duration_ms":\d+`), `"duration_ms":N`},
	{regexp.MustCompile(` {2,}`), " "},
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
}

// masked applies the masks to a text.
func masked(text string) string {
	for _, m := range masks {
		text = m.find.ReplaceAllString(text, m.put)
	}
	return text
}

// replay runs the commands of a console block in one bash with a daemon of its own,
// and compares what each prints with what the document shows. Documents may name
// /home/you, port 8080 and "sleep 313"; a replay puts values of its own there.
func replay(t *testing.T, block string) {
	t.Helper()
	for _, name := range []string{"jq", "pgrep", "python3"} {
		if strings.Contains(block, name) {
			need.Program(t, name)
		}
	}
	p := program(t)
	t.Cleanup(func() { endJobs(p.dir, p.Env) })
	require.NoError(t, os.Mkdir(p.file("work"), 0o700))
	p.replay(block)
}

// replay runs the commands of a console block in the directory work.
func (p *process) replay(block string) {
	t := p.t
	t.Helper()
	port := freePort(t) // two replays at a time have two
	fresh := strings.NewReplacer("/home/you", p.file("work"), "8080", port, "sleep 313", "sleep 313."+port)
	all := steps(t, fresh.Replace(block))
	var script strings.Builder
	for i, s := range all {
		fmt.Fprintf(&script, "exec >%s 2>&1\n%s\n", p.file("step-"+strconv.Itoa(i)), s.command)
	}
	p.bash(script.String())
	p.Dir = p.file("work")
	p.start()
	_ = p.rest()
	<-p.ended
	for i, s := range all {
		got, err := os.ReadFile(p.file("step-" + strconv.Itoa(i)))
		require.NoError(t, err)
		require.Equal(t, masked(s.shown), masked(string(got)), "the output of %q differs from the document", s.command)
	}
}

// freePort returns a port of this machine on which no process listens now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// document reads a page of the tree, by its path from the root.
func document(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", path))
	require.NoError(t, err)
	return string(text)
}

// TestTheConsoleBlocksReplay runs each console block of the front page, the guide and the page of
// the RPC servers.
func TestTheConsoleBlocksReplay(t *testing.T) {
	for path, least := range map[string]int{"README.md": 2, "docs/guide.md": 9, "docs/rpc.md": 1} {
		blocks := codeBlocks(document(t, path), "console")
		require.GreaterOrEqual(t, len(blocks), least, path)
		for i, block := range blocks {
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(path), i+1), func(t *testing.T) {
				t.Parallel()
				replay(t, block)
			})
		}
	}
}

// TestTheReplayNoticesDrift checks that masks hide times and sizes, and nothing else.
func TestTheReplayNoticesDrift(t *testing.T) {
	require.Equal(t, masked("j1  web   running 9s  10 B    x\n"), masked("j1  web  running 12s  9 B  x\n"))
	require.NotEqual(t, masked("j1  web  running 9s\n"), masked("j2  web  running 9s\n"))
	require.NotEqual(t, masked("status 124\n"), masked("status 0\n"))
	require.Equal(t, []step{{command: "a", shown: "x\n"}, {command: "b"}}, steps(t, "$ a\nx\n$ b\n"))
}

// TestTheReadmeSnippetRuns compiles the Go of the README and checks its output.
func TestTheReadmeSnippetRuns(t *testing.T) {
	t.Parallel()
	blocks := codeBlocks(document(t, "README.md"), "go")
	require.Len(t, blocks, 1)
	snippet, want, found := strings.Cut(blocks[0], " // ")
	require.True(t, found)
	file := filepath.Join(t.TempDir(), "main.go")
	source := "package main\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\t\"os\"\n\n\t\"troupe\"\n)\n\n" +
		"func main() {\n\tif err := run(context.Background()); err != nil {\n\t\tfmt.Println(err)\n\t\tos.Exit(1)\n\t}\n}\n\n" +
		"func run(ctx context.Context) error {\n" + snippet + "\nreturn nil\n}\n"
	require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "run", "-buildvcs=false", file).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, strings.TrimSpace(want), strings.TrimSpace(string(out)))
}

// TestThePicturesShowWhatHappens draws the pictures of the README and the guide again. A picture
// that differs is drawn with make build, and its script in tools.
func TestThePicturesShowWhatHappens(t *testing.T) {
	t.Parallel()
	need.Program(t, "jq")
	troupe, err := exec.LookPath("troupe")
	require.NoError(t, err)
	for picture, script := range map[string]string{"demo.svg": "picture.sh", "top.svg": "picture_top.sh"} {
		t.Run(picture, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), picture)
			out, err := exec.CommandContext(t.Context(), "../../tools/"+script, troupe, file).CombinedOutput()
			require.NoError(t, err, string(out))
			again, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, document(t, "docs/"+picture), string(again))
		})
	}
}
