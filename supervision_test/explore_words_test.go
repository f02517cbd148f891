package supervision_test

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"troupe/internal/test/fake"
	"troupe/messages"
)

// say prints a request as people read it: what is set in it.
func say(request any) string {
	v := reflect.ValueOf(request)
	return strings.TrimPrefix(v.Type().String(), "messages.") + fields(v)
}

func fields(v reflect.Value) string {
	var b strings.Builder
	for i := range v.NumField() {
		f := v.Field(i)
		if name := v.Type().Field(i).Name; !f.IsZero() && name != "quiet" {
			fmt.Fprintf(&b, " %s=%v", name, f.Interface())
		}
	}
	return b.String()
}

// course is what a process does by itself, and in words.
type course struct {
	fake.Script
	words []string
}

func (l *course) then(after time.Duration, what string, play func(p *fake.Process)) *course {
	l.words = append(l.words, fmt.Sprintf("%s: %s", after, what))
	l.Steps = append(l.Steps, fake.Step{After: after, Play: func(p *fake.Process) bool {
		play(p)
		return true
	}})
	return l
}

// writes has it write to what it has.
func (l *course) writes(after time.Duration, text string) {
	l.then(after, fmt.Sprintf("%q", text), func(p *fake.Process) {
		_ = p.Write(messages.Merged, text) || p.Write(messages.Stdout, text)
	})
}

func (l *course) String() string {
	b := fmt.Sprintf("begins after %s", l.Begin)
	if l.Fail != nil {
		b = fmt.Sprintf("fails after %s", l.Begin)
	}
	if l.Nature == fake.Obedient {
		b += ", obeys"
	}
	if left := l.Leave; left.N > 0 {
		b += ", leaves" + fields(reflect.ValueOf(left))
	}
	return b + ", " + strings.Join(l.words, ", ")
}
