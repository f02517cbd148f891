package run

import (
	"fmt"
	"strconv"
	"strings"

	"troupe/internal/cli"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// startWaits sets what a command waits for before it starts. A command in the foreground names the
// job around it, which waits for it.
func startWaits(m *cli.Main, r *messages.RunCommand, f *Flags) error {
	r.Queue, r.Priority = f.Queue, f.Priority
	for _, text := range f.After {
		job, on, _ := strings.Cut(text, ":")
		r.After = append(r.After, messages.After{Job: messages.JobID(job), On: messages.AfterEnd(on)})
	}
	for _, text := range f.Locks {
		name, places, many := strings.Cut(text, ":")
		l := messages.Lock{Name: name}
		if many {
			var err error
			if l.Places, err = strconv.Atoi(places); err != nil || l.Places < 1 {
				return messages.Invalid("locks", fmt.Sprintf("--lock %s: write NAME, or NAME:N with a number of 1 or more", text))
			}
		}
		r.Locks = append(r.Locks, l)
	}
	if around, in := m.Getenv(shelltext.JobVar); in && f.waits() && !r.Mode.Background() {
		r.CalledBy = messages.JobID(around)
	}
	return nil
}
