package node

import (
	"fmt"
	"path/filepath"
	"strings"

	"troupe/actors"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// check returns what is wrong with the options, or nil.
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
	if n := len(o.JobPrefix); n > 0 && o.JobPrefix[n-1] >= '0' && o.JobPrefix[n-1] <= '9' { // the next node could not parse the number of a job
		return messages.Invalid("options", fmt.Sprintf("Options.JobPrefix %q ends with a digit, which would join the number that follows; end it with another character, such as '-'", o.JobPrefix))
	}
	for _, field := range []struct{ of, text string }{{"WorkDir", o.WorkDir}, {"Socket", o.Socket}, {"State", o.State}} {
		if strings.ContainsRune(field.text, 0) {
			return messages.Invalid("options", fmt.Sprintf("Options.%s %q contains a NUL byte, which no job can be given", field.of, field.text))
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

// checkParts returns which of the given parts is missing or unused.
func (o Options) checkParts() error {
	for name, b := range o.Backends {
		if b == nil {
			return messages.Invalid("options", fmt.Sprintf("Options.Backends has nothing under %q; give a backend, or leave the name out", name))
		}
	}
	_, own := o.Backends[actors.DefaultBackend]
	switch apart := own || o.Engine != nil; {
	case apart && o.Logs == nil:
		return messages.Invalid("options", "Options.Logs is missing: a node with an Engine or a pipe backend of its own reads outputs there; give its logs")
	case !apart && o.Logs != nil:
		return messages.Invalid("options", "Options.Logs is not used: this node has an engine of its own; leave Logs out, or give its Engine or pipe backend")
	}
	return nil
}
