package run

import (
	"troupe/internal/cli"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// startWaits sets what a command waits for before it starts. A command in the foreground names the
// job around it, which waits for it.
func startWaits(m *cli.Main, r *messages.RunCommand, f *Flags) error {
	r.Queue, r.Priority = f.Queue, f.Priority
	for _, text := range f.After {
		r.After = append(r.After, messages.ParseAfter(text))
	}
	for _, text := range f.Locks {
		l, err := messages.ParseLock(text)
		if err != nil {
			return err
		}
		r.Locks = append(r.Locks, l)
	}
	if around, in := m.Getenv(shelltext.JobVar); in && f.waits() && !r.Mode.Background() {
		r.CalledBy = messages.JobID(around)
	}
	return nil
}
