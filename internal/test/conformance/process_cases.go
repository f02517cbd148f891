package conformance

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"troupe/backends"
	"troupe/internal/test/hostile"
	"troupe/messages"
)

func processCases() []testCase {
	return []testCase{
		{"a hostile tree", hostileTree, realOnes | wholeTrees},
		{"a hostile tree without its root", hostileOrphans, realOnes | wholeTrees | pipes | ownProcess},
		{"a hostile tree is signalled", hostileSignalled, realOnes | wholeTrees | signals | ownProcess},
		{"a process group", ownGroup, realOnes},
		{"environment, directory and umask", surroundings, realOnes | ownProcess},
		{"no descriptor but three", descriptors, realOnes},
		{"a long text", longText, realOnes},
		{"much output", muchOutput, realOnes},
	}
}

// hostile starts a tree and returns after all of it has started.
func (b *bench) hostile(tree hostile.Tree) (*run, hostile.Tree) {
	b.Helper()
	tree.Token = b.marker
	r := b.startProgram(Program{Argv: tree.Command()})
	r.wrote(messages.Merged, hostile.Ready)
	return r, tree
}

// hostileTree checks that nothing escapes a stop, and that the report of the end is
// true (F17, F21).
func hostileTree(b *bench) {
	r, tree := b.hostile(hostile.Tree{Roots: cmp.Or(b.Roots, 20)})
	r.stop(messages.ByClient, 500*time.Millisecond)
	r.gone(messages.ByClient)
	if left := tree.Alive(); len(left) > 0 {
		b.Errorf("%d processes are left: %v", len(left), left)
	}
}

func hostileOrphans(b *bench) {
	r, tree := b.hostile(hostile.Tree{Roots: 10, Leave: true})
	if f := r.result(); f.Status.Code != hostile.LeaveCode || f.Children < 10 || !f.OutputOpen || f.Cause != (messages.Cause{}) {
		b.Errorf("the result is %+v", f)
	}
	r.stop(messages.ByClient, 200*time.Millisecond)
	r.over()
	if e, _ := await[messages.TreeEnded](r.factRecorder); len(e.Survivors) > 0 {
		b.Errorf("survivors: %+v", e.Survivors)
	}
	if left := tree.Alive(); len(left) > 0 {
		b.Errorf("%d processes are left: %v", len(left), left)
	}
}

// hostileSignalled checks that KILL for the whole tree misses no process that forks
// meanwhile.
func hostileSignalled(b *bench) {
	r, tree := b.hostile(hostile.Tree{Roots: cmp.Or(b.Roots, 20)})
	r.process.Do(backends.Signal{Name: "KILL", Tree: true})
	if f := r.over(); f.Status.Signal != "KILL" || f.Cause != (messages.Cause{}) {
		b.Errorf("the result is %+v", f)
	}
	if left := tree.Alive(); len(left) > 0 {
		b.Errorf("%d processes are left: %v", len(left), left)
	}
}

// ownGroup checks that a kill reaches at least the job's own process group.
func ownGroup(b *bench) {
	r, tree := b.hostile(hostile.Tree{Roots: 4, Kinds: []hostile.Kind{hostile.Plain, hostile.Ignoring}})
	r.stop(messages.ByClient, 200*time.Millisecond)
	f := r.over()
	if left := tree.Alive(); len(left) > 0 {
		b.Errorf("%d processes are left: %v", len(left), left)
	}
	if unsure := slices.Contains(f.Flags, messages.FlagTreeUnverified); unsure != (b.Reach == messages.Group) {
		b.Errorf("flags %q where a kill reaches the %s", f.Flags, b.Reach)
	}
}

func surroundings(b *bench) {
	dir := b.TempDir()
	r := b.startProgram(Program{Text: `pwd; umask; echo "$A"; exec env`}, func(c *backends.Command) {
		c.Dir, c.Umask, c.Env = dir, 0o027, append(c.Env, "A=x y", "B=")
	})
	r.over()
	lines := strings.Split(r.read(messages.Merged), "\n")
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		b.Fatal(err)
	}
	if lines[0] != dir && lines[0] != real || lines[1] != "0027" || lines[2] != "x y" {
		b.Errorf("it printed %q", lines)
	}
	for _, want := range append(b.env(), "A=x y", "B=") {
		if !slices.Contains(lines[3:], want) {
			b.Errorf("%q is not in the environment", want)
		}
	}
	for _, have := range lines[3:] {
		name, _, _ := strings.Cut(have, "=")
		// Variables that bash sets, and the tag of the engine's trees.
		if !slices.ContainsFunc(append(b.env(), "A=", "B=", "PWD=", "SHLVL=", "_=", "OLDPWD=", "TROUPE_TREE=", "TERM=", "="), func(e string) bool {
			return strings.HasPrefix(e, name+"=")
		}) {
			b.Errorf("unexpected variable %q in the environment", have)
		}
	}
}

func descriptors(b *bench) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		return // cannot be checked
	}
	hold, err := os.Open(b.dir) // must not be inherited
	if err != nil {
		b.Fatal(err)
	}
	defer hold.Close()
	for _, change := range []func(*backends.Command){withInput, withStreams} {
		if b.Terminals {
			change = func(*backends.Command) {}
		}
		r := b.startProgram(Program{Argv: []string{"ls", "-1", "/proc/self/fd"}}, change)
		r.over()
		s := messages.Merged
		if r.command.Stdio.Streams == messages.SeparateStreams {
			s = messages.Stdout
		}
		if text := r.read(s); text != "0\n1\n2\n3\n" { // 3 is the directory that ls reads
			b.Errorf("its descriptors are %q", text)
		}
	}
}

func longText(b *bench) {
	text := "exit 6\n" + strings.Repeat("# a long tail\n", 300_000)
	r := b.startProgram(Program{Text: text})
	if f := r.over(); f.Status.Code != 6 {
		b.Errorf("a text of %d bytes ended with %+v", len(text), f.Status)
	}
}

// muchOutput checks that every byte arrives of an output too large for memory.
func muchOutput(b *bench) {
	const size = 20 << 20
	r := b.startProgram(Program{Text: fmt.Sprintf("head -c %d /dev/zero", size)})
	f := r.over()
	log, err := r.process.Output(messages.Merged)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	if s := log.State(); s.Size != size || f.Sizes[messages.Merged] != size || len(s.Gaps) > 0 {
		b.Errorf("%+v, %v", s, f.Sizes)
	}
}
