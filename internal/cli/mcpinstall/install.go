package mcpinstall

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"

	"troupe/internal/cli"
	"troupe/messages"
)

// Install adds troupe to the servers of a host, or brings its entry up to date.
func Install(m *cli.Main, name string, dry bool) error {
	program, err := cli.LastingProgramPath(m)
	if err != nil {
		return err
	}
	h, all, err := open(m, name, program)
	if err != nil {
		return err
	}
	f := all[max(slices.IndexFunc(all, (*hostFile).hasServer), 0)] // the entry that counts, if there are several
	e := h.entry(program).over(f.found)
	if f.has && e.isIn(f.found) {
		_, err := fmt.Fprintf(m.Out, "troupe is a server of %s already: %s\n", h.title, f.path)
		return err
	}
	c := &change{hostFile: f, done: "added troupe to", would: "would add troupe to"}
	if f.has {
		c.done, c.would = "changed troupe among", "would change troupe among"
	}
	if c.text, err = h.format.set(f.text, h.servers, e); err != nil {
		return unusable(f.path, err.Error())
	}
	if !h.safe(c, program) {
		return h.loss(f)
	}
	return h.perform(m.Out, []*change{c}, h.next, dry)
}

// Uninstall removes troupe from the servers of a host, in each of its files.
func Uninstall(m *cli.Main, name string, dry bool) error {
	program, err := cli.ProgramPath(m)
	if err != nil {
		return err
	}
	h, all, err := open(m, name, program)
	if err != nil {
		return err
	}
	var changes []*change
	for _, f := range all {
		if !f.has {
			continue
		}
		c := &change{hostFile: f, done: "removed troupe from", would: "would remove troupe from"}
		if c.text, err = h.format.remove(f.text, h.servers); err != nil {
			return unusable(f.path, err.Error())
		}
		if !h.removes(c) {
			return h.loss(f)
		}
		changes = append(changes, c)
	}
	if len(changes) == 0 {
		_, err := fmt.Fprintf(m.Out, "troupe is not a server of %s: %s\n", h.title, all[0].path)
		return err
	}
	return h.perform(m.Out, changes, []string{"restart " + h.title, "its own shell is on again when you undo what you set for that"}, dry)
}

// hostFile is a file of a host, and the entry of troupe in it.
type hostFile struct {
	*currentFile
	values map[string]any
	found  map[string]any // the entry
	has    bool           // there is one
}

func (f *hostFile) hasServer() bool { return f.has }

// open reads the files of a host: the first, which may be missing, and others that are there. It
// refuses a server with our name that starts another program.
func open(m *cli.Main, name, program string) (h host, all []*hostFile, err error) {
	if h, err = find(name); err != nil {
		return h, nil, err
	}
	dirs, err := newUserDirs(m)
	if err != nil {
		return h, nil, err
	}
	for i, path := range h.files(dirs) {
		if i > 0 && !exists(path) {
			continue
		}
		current, err := readFile(path)
		if err != nil {
			return h, nil, err
		}
		f := &hostFile{currentFile: current}
		if f.values, err = h.format.decode(f.text); err != nil {
			return h, nil, unusable(f.path, err.Error())
		}
		var entry any
		entry, f.has = serverIn(f.values, h.servers)
		f.found, _ = entry.(map[string]any)
		if f.has && !startsTroupe(f.found, program) {
			e := unusable(f.path, "its server named troupe starts another program")
			e.Hint = "give that server another name, or remove it"
			return h, nil, e
		}
		all = append(all, f)
	}
	return h, all, nil
}

// change is the edit of a file and its report.
type change struct {
	*hostFile
	done, would string
	text        []byte // the file after the edit
}

// safe reports whether a change leaves the values of a file outside of our entry as they were, and
// our entry whole.
func (h host) safe(c *change, program string) bool {
	after, err := h.format.decode(c.text)
	if err != nil {
		return false
	}
	entry, has := serverIn(after, h.servers)
	found, _ := entry.(map[string]any)
	return has && h.entry(program).over(c.found).isIn(found) && h.keepsRest(c, after)
}

// removes reports whether a change removes our entry and nothing else.
func (h host) removes(c *change) bool {
	after, err := h.format.decode(c.text)
	if err != nil {
		return false
	}
	_, has := serverIn(after, h.servers)
	return !has && h.keepsRest(c, after)
}

func (h host) keepsRest(c *change, after map[string]any) bool {
	return reflect.DeepEqual(without(c.values, h.servers), without(after, h.servers))
}

// loss returns the error of a file that no edit leaves whole.
func (h host) loss(f *hostFile) *messages.Error {
	return unusable(f.path, fmt.Sprintf("the key %s cannot be edited without a loss; edit it by hand", h.servers))
}

// perform writes changes, unless it is a dry run, and reports them.
func (h host) perform(w io.Writer, changes []*change, next []string, dry bool) error {
	var b bytes.Buffer
	for _, c := range changes {
		report := c.would
		if !dry {
			if err := c.replace(c.text); err != nil {
				_, _ = w.Write(b.Bytes()) // what was done before
				return err
			}
			report = c.done
		}
		fmt.Fprintf(&b, "%s the servers of %s: %s\n", report, h.title, c.path)
		if err := printLines(&b, c.hostFile.text, c.text); err != nil {
			return err
		}
	}
	for _, step := range next {
		fmt.Fprintf(&b, "next: %s\n", step)
	}
	_, err := w.Write(b.Bytes())
	return err
}
