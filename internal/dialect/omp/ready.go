package omp

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"troupe/host"
	"troupe/messages"
)

// Ready says when a service is ready: its output has Log, it listens on Port, or both. Host is
// accepted: a service is asked for its own ports, whatever address they are at.
type Ready struct {
	Log     string   `json:"log,omitempty"`
	Port    int      `json:"port,omitempty"`
	Host    string   `json:"host,omitempty"`
	Timeout *float64 `json:"timeout,omitempty"`
}

// Bounds of the wait for a service, in seconds.
const (
	defaultReady = 30
	maxReady     = 3600
)

// conditions returns what is waited for.
func (r Ready) conditions() []messages.Condition {
	var all []messages.Condition
	if r.Log != "" {
		pattern := "(?m)" + r.Log
		if _, err := regexp.Compile(pattern); err != nil {
			pattern = regexp.QuoteMeta(r.Log)
		}
		all = append(all, messages.Condition{Kind: messages.UntilPattern, Pattern: pattern})
	}
	if r.Port != 0 {
		all = append(all, messages.Condition{Kind: messages.UntilPort, Port: r.Port})
	}
	return all
}

// awaitReady waits until a service is ready and says so, or why it is not.
func (s *Session) awaitReady(ctx context.Context, id messages.JobID, r Ready) string {
	seconds := float64(defaultReady)
	if r.Timeout != nil {
		seconds = min(max(*r.Timeout, minTimeout), maxReady)
	}
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for _, condition := range r.conditions() {
		wait := messages.WaitJobs{Jobs: []messages.JobID{id}, Condition: condition, Timeout: max(time.Until(end), time.Millisecond)}
		if bad := wait.Check(); bad != nil {
			return fmt.Sprintf(textNotReady, bad.Message)
		}
		switch w, err := host.Ask(ctx, s.options.Host, wait); {
		case err != nil:
			return fmt.Sprintf(textNotReady, err)
		case w.Impossible:
			return textReadyEnded
		case !w.Satisfied:
			return fmt.Sprintf(textReadyLate, number(seconds))
		}
	}
	return textReady
}
