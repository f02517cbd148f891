package faults

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// Duration is a time such as "200ms".
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed < 0 {
		return fmt.Errorf(`invalid duration %q; such as "200ms" or "2s"`, text)
	}
	*d = Duration(parsed)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Rule is one fault and its occasion: at which events, of which jobs, how often, and what
// happens. Fields that are not set do not restrict.
type Rule struct {
	Name  string `toml:"name" json:"name"`   // unique; "": rule N
	Where Point  `toml:"where" json:"where"` // required

	Scope   messages.ScopePath `toml:"scope" json:"scope"`     // jobs in this scope or below it
	Job     string             `toml:"job" json:"job"`         // pattern of names, as the shell's
	Command string             `toml:"command" json:"command"` // regular expression in the command
	Match   string             `toml:"match" json:"match"`     // regular expression in the output so far; where = "output"

	Nth         int     `toml:"nth" json:"nth"`                 // only this one of the events that the rule selects, from 1
	Every       int     `toml:"every" json:"every"`             // each of them whose number is a multiple of this
	Probability float64 `toml:"probability" json:"probability"` // of each, by the seed
	Times       int     `toml:"times" json:"times"`             // at most so often; 0: no bound

	Do     Action   `toml:"do" json:"do"`         // required
	After  Duration `toml:"after" json:"after"`   // so long after the event; of kill and freeze
	For    Duration `toml:"for" json:"for"`       // how long a delay, a freeze or a held pipe lasts; the pause of a slow reader
	Errno  string   `toml:"errno" json:"errno"`   // of errno
	Bytes  int      `toml:"bytes" json:"bytes"`   // of short-write, slow-reader, garbage, cut
	Code   *int     `toml:"code" json:"code"`     // of wrong-exit
	Signal string   `toml:"signal" json:"signal"` // of kill (KILL) and wrong-exit
	Target Target   `toml:"target" json:"target"` // of kill and freeze (child)

	command, match *regexp.Regexp
}

// needed are the fields that an action takes and those without which it means nothing.
var fields = map[Action]struct{ takes, needs []string }{
	Delay:      {takes: []string{"for"}, needs: []string{"for"}},
	Freeze:     {takes: []string{"for", "after", "target"}, needs: []string{"for"}},
	HeldPipe:   {takes: []string{"for"}, needs: []string{"for"}},
	SlowReader: {takes: []string{"for", "bytes"}, needs: []string{"for", "bytes"}},
	Garbage:    {takes: []string{"bytes"}, needs: []string{"bytes"}},
	Cut:        {takes: []string{"bytes"}},
	ShortWrite: {takes: []string{"bytes"}},
	Errno:      {takes: []string{"errno"}, needs: []string{"errno"}},
	WrongExit:  {takes: []string{"code", "signal"}},
	Kill:       {takes: []string{"after", "signal", "target"}},
}

// given lists the fields of an action that a rule sets.
func (r *Rule) given() (set []string) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"after", r.After != 0},
		{"for", r.For != 0},
		{"errno", r.Errno != ""},
		{"bytes", r.Bytes != 0},
		{"code", r.Code != nil},
		{"signal", r.Signal != ""},
		{"target", r.Target != ""},
	} {
		if f.set {
			set = append(set, f.name)
		}
	}
	return set
}

// check returns what is wrong with a rule, as the field and a sentence, and completes it.
func (r *Rule) check() (field, wrong string) {
	for _, check := range []func() (string, string){r.checkPlace, r.checkJobs, r.checkOccasion, r.checkAction} {
		if field, wrong := check(); wrong != "" {
			return field, wrong
		}
	}
	return "", ""
}

func (r *Rule) checkPlace() (field, wrong string) {
	if !slices.Contains(Points(), r.Where) {
		return "where", fmt.Sprintf("where is %q; it is one of %s", r.Where, list(Points()))
	}
	if !slices.Contains(Actions(r.Where), r.Do) {
		return "do", fmt.Sprintf("do is %q; what can happen at %s is %s", r.Do, r.Where, list(Actions(r.Where)))
	}
	return "", ""
}

func (r *Rule) checkJobs() (field, wrong string) {
	if r.Scope != "" {
		if err := r.Scope.Check(); err != nil {
			return "scope", err.Message
		}
	}
	if _, err := path.Match(r.Job, ""); err != nil {
		return "job", fmt.Sprintf("job is no pattern: %q", r.Job)
	}
	var err error
	if r.command, err = compiled(r.Command); err != nil {
		return "command", "command: " + err.Error()
	}
	if r.match, err = compiled(r.Match); err != nil {
		return "match", "match: " + err.Error()
	}
	if r.Match != "" && r.Where != Output {
		return "match", fmt.Sprintf("match needs where = %q", Output)
	}
	return "", ""
}

func (r *Rule) checkOccasion() (field, wrong string) {
	switch {
	case r.Nth < 0:
		return "nth", fmt.Sprintf("nth is %d; the first event is 1", r.Nth)
	case r.Every < 0:
		return "every", fmt.Sprintf("every is %d; it must be 1 or more", r.Every)
	case r.Times < 0:
		return "times", fmt.Sprintf("times is %d; it must be 1 or more, or 0 for no bound", r.Times)
	case !(r.Probability >= 0 && r.Probability <= 1): //nolint:staticcheck // not a number, too
		return "probability", fmt.Sprintf("probability is %v; it must be from 0 to 1", r.Probability)
	case r.Nth > 0 && r.Every > 0, r.Nth > 0 && r.Probability > 0, r.Every > 0 && r.Probability > 0:
		return "nth", "give one of nth, every and probability"
	}
	return "", ""
}

func (r *Rule) checkAction() (field, wrong string) {
	f := fields[r.Do]
	given := r.given()
	for _, name := range given {
		if !slices.Contains(f.takes, name) {
			return name, fmt.Sprintf("%s takes no %s", r.Do, name)
		}
	}
	for _, name := range f.needs {
		if !slices.Contains(given, name) {
			return "do", fmt.Sprintf("%s needs %s", r.Do, name)
		}
	}
	if r.Do == WrongExit && (r.Code == nil) == (r.Signal == "") {
		return "do", "wrong-exit needs code or signal"
	}
	if r.Code != nil && (*r.Code < 0 || *r.Code > 255) {
		return "code", fmt.Sprintf("code is %d; it must be from 0 to 255", *r.Code)
	}
	if r.Bytes < 0 {
		return "bytes", fmt.Sprintf("bytes is %d; it must be 1 or more", r.Bytes)
	}
	if r.Errno != "" && Number(r.Errno) == 0 {
		return "errno", fmt.Sprintf("errno is %q; it is a name such as EIO", r.Errno)
	}
	return r.checkTarget()
}

func (r *Rule) checkTarget() (field, wrong string) {
	if r.Do != Kill && r.Do != Freeze {
		return "", ""
	}
	if r.Target == "" {
		r.Target = Child
	}
	if all := []Target{Child, Holder, Keeper, Daemon}; !slices.Contains(all, r.Target) {
		return "target", fmt.Sprintf("target is %q; it is one of %s", r.Target, list(all))
	}
	if r.Do == Freeze && r.Target == Daemon {
		return "target", "a frozen daemon could not go on by itself; freeze the keeper, or kill the daemon"
	}
	if r.Signal == "" && r.Do == Kill {
		r.Signal = "KILL"
	}
	return "", ""
}

// Number returns the error of the system with a name such as EIO; 0 if there is none.
func Number(name string) syscall.Errno {
	for n := syscall.Errno(1); n < 256; n++ {
		if unix.ErrnoName(n) == name {
			return n
		}
	}
	return 0
}

func compiled(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	return regexp.Compile(text)
}

func list[S ~string](all []S) string {
	var names []string
	for _, s := range all {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}
