package troupe

import (
	"fmt"
	"path/filepath"
	"strings"

	"troupe/actors"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// check says what is wrong with options that every job would fail by, or none would be
// as it was meant.
func (o Options) check() error {
	if err := shelltext.CheckPrefix(o.Prefix, "Options.Prefix"); err != nil {
		return err
	}
	for _, dir := range []struct{ of, path string }{{"Dir", o.Dir}, {"WorkDir", o.WorkDir}} {
		if dir.path != "" && !filepath.IsAbs(dir.path) {
			return messages.Invalid("options", fmt.Sprintf("Options.%s %q is relative; give an absolute path", dir.of, dir.path))
		}
	}
	if o.JobPrefix != "" && messages.SessionID(o.JobPrefix).Check() != nil {
		return messages.Invalid("options", fmt.Sprintf("Options.JobPrefix %q cannot begin an id; use letters, digits, '.', '_' and '-'", o.JobPrefix))
	}
	if n := len(o.JobPrefix); n > 0 && o.JobPrefix[n-1] >= '0' && o.JobPrefix[n-1] <= '9' { // the next node could not tell the number of a job
		return messages.Invalid("options", fmt.Sprintf("Options.JobPrefix %q ends with a digit, which would be one of the number behind it; end it with another character, such as '-'", o.JobPrefix))
	}
	for _, told := range []struct{ of, text string }{{"WorkDir", o.WorkDir}, {"Socket", o.Socket}, {"State", o.State}} {
		if strings.ContainsRune(told.text, 0) {
			return messages.Invalid("options", fmt.Sprintf("Options.%s %q contains a NUL byte, which no job can be given", told.of, told.text))
		}
	}
	if err := o.checkParts(); err != nil {
		return err
	}
	for name, words := range o.Shells {
		if name == "" || len(words) == 0 || words[0] == "" {
			return messages.Invalid("options", fmt.Sprintf("Options.Shells has %q with the words %q; give the program and what stands before the text, as /bin/dash -c", name, words))
		}
	}
	return nil
}

// checkParts says what is missing of the parts that a node is given, or is of none.
func (o Options) checkParts() error {
	for name, b := range o.Backends {
		if b == nil {
			return messages.Invalid("options", fmt.Sprintf("Options.Backends has nothing under %q; give a backend, or leave the name out", name))
		}
	}
	_, own := o.Backends[actors.DefaultBackend]
	switch apart := own || o.Engine != nil; {
	case apart && o.Logs == nil:
		return messages.Invalid("options", "Options.Logs is missing: a node with an Engine or a pipe backend of its own cannot know where outputs are; give the logs of those")
	case !apart && o.Logs != nil:
		return messages.Invalid("options", "Options.Logs would not be used: this node has the outputs of its own engine; leave them out, or give the Engine, or the pipe backend, that they are of")
	}
	return nil
}
