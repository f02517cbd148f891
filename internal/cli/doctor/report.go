package doctor

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"

	"golang.org/x/sys/unix"

	"troupe/backends/engine"
	"troupe/internal/cli"
	"troupe/internal/cli/out"
	"troupe/messages"
	"troupe/spill"
)

// doctorReport is the object of doctor --json: what this machine and user allow, and the
// fallbacks of troupe.
type doctorReport struct {
	V           int          `json:"v"`
	OK          bool         `json:"ok"` // commands can run, their output can be kept, and a daemon can start
	Version     cli.Build    `json:"version"`
	Kernel      string       `json:"kernel"`
	UID         int          `json:"uid"`
	Isolation   string       `json:"isolation"` // cgroup, subreaper or group
	Features    []feature    `json:"features"`
	Limits      []limit      `json:"limits"`
	Directories []directory  `json:"directories"`
	Shells      []shellFound `json:"shells"`
	Daemon      *daemonFound `json:"daemon"`
	Problems    []string     `json:"problems"`
}

// feature is a kernel feature that troupe uses if it exists.
type feature struct {
	Name    string `json:"name"`
	Found   bool   `json:"found"`
	Detail  string `json:"detail,omitempty"`
	Instead string `json:"instead,omitempty"` // fallback; "" if found
}

// Examine tests the machine with a temporary engine and store, and removes both.
func Examine(m *cli.Main) *doctorReport {
	c := &doctorReport{V: messages.JSONVersion, Version: m.Describe(), Kernel: kernel(), UID: unix.Geteuid(), Problems: []string{}}
	c.Daemon = examineDaemon(m, c)
	node := fmt.Sprintf("doctor-%d", os.Getpid())
	store, err := spill.OpenStore(spill.Options{Node: node})
	if err != nil {
		c.problem("cannot store outputs: %v", err)
		return c
	}
	defer store.Close()
	c.Features = append(c.Features, memory(store))
	var snapshots map[string]*snapshotFound
	e, err := engine.New(engine.Options{Node: node, Store: store, Own: true})
	if err != nil {
		c.problem("cannot run commands: %v", err)
	} else {
		f := e.Features()
		snapshots = examineSnapshots(m, e, store)
		e.Close(false)
		c.Isolation = string(f.Isolation)
		if f.NoProcesses != "" {
			c.problem("%s: without a cgroup, processes that commands leave cannot be found or stopped; mount it (mount -t proc proc /proc, or unshare with --mount-proc)", f.NoProcesses)
		}
		c.Features = append(features(f), c.Features...)
	}
	c.Limits = listLimits()
	c.Directories = append(c.directories(store), c.Directories...)
	c.Shells = shells(snapshots)
	if c.Shells[0].Path == "" {
		c.problem("bash is not installed; install it, or choose an installed shell with --shell")
	}
	c.OK = len(c.Problems) == 0
	return c
}

func (c *doctorReport) problem(format string, args ...any) {
	c.Problems = append(c.Problems, out.Clean(fmt.Sprintf(format, args...)))
}

// kernel returns the name of the system and its release.
func kernel() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return runtime.GOOS
	}
	return unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
}

// Print prints the report as text.
func (c *doctorReport) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "troupe %s on %s, uid %d\n", c.Version.Version, out.Clean(c.Kernel), c.UID)
	fmt.Fprintf(t, "the processes of a command are tracked by %s\n\nkernel\n", isolations[cmp.Or(c.Isolation, "nothing")])
	for _, f := range c.Features {
		mark, text := "yes", f.Detail
		if !f.Found {
			mark, text = "no", f.Instead
			if f.Detail != "" {
				text += " (" + f.Detail + ")"
			}
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", mark, f.Name, out.Clean(text))
	}
	fmt.Fprint(t, "\nlimits\n")
	for _, l := range c.Limits {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", out.Clean(l.Value), l.Name, l.Meaning)
	}
	fmt.Fprint(t, "\ndirectories\n")
	for _, d := range c.Directories {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", d.State, d.Use, out.Clean(d.text()))
	}
	fmt.Fprint(t, "\nshells\n")
	printShells(t, c.Shells)
	fmt.Fprint(t, "\ndaemon\n")
	for _, l := range c.Daemon.lines() {
		fmt.Fprintf(t, "  %s\t%s\n", l[0], out.Clean(l[1]))
	}
	for _, p := range c.Problems {
		fmt.Fprintf(t, "\nproblem: %s\n", p)
	}
	return t.Flush()
}

// isolations describes, for each isolation, what holds a process tree together and what a stop
// reaches.
var isolations = map[string]string{
	string(messages.InCgroup):  "a cgroup of their own; a kill reaches all of them at once",
	string(messages.Subreaper): "their descent from troupe; a kill suspends, finds and kills them in rounds",
	string(messages.Group):     "their process groups only; a process that leaves them may survive, and is not reported",
	"nothing":                  "nothing: commands cannot run",
}
