package troupe

import (
	"fmt"
	"path/filepath"

	"troupe/messages"
	"troupe/shell"
)

// check says what is wrong with options that every job would fail by, or none would be
// as it was meant.
func (o Options) check() error {
	if err := shell.CheckPrefix(o.Prefix, "Options.Prefix"); err != nil {
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
	for name, words := range o.Shells {
		if name == "" || len(words) == 0 || words[0] == "" {
			return messages.Invalid("options", fmt.Sprintf("Options.Shells has %q with the words %q; give the program and what stands before the text, as /bin/dash -c", name, words))
		}
	}
	return nil
}
