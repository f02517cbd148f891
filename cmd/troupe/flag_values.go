package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"troupe/messages"
)

// seconds is a time without a unit, as those of timeout, sleep and systemd may be. What a
// number could mean otherwise, such as an exponent, is none.
var seconds = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$`)

// durationFlag is a flag whose value is a time like 90, 1.5s or 1h30m.
type durationFlag struct {
	name string
	zero bool // 0 makes sense
	bare bool // it is an argument, not a flag
	d    time.Duration
	set  bool
}

// String implements pflag.Value; the default is none.
func (d *durationFlag) String() string {
	if !d.set {
		return ""
	}
	return d.d.String()
}

// Type implements pflag.Value: the word in the help.
func (*durationFlag) Type() string { return "D" }

// Set implements pflag.Value.
func (d *durationFlag) Set(s string) error {
	v, err := time.ParseDuration(s)
	if seconds.MatchString(s) {
		if v, err = time.ParseDuration(s + "s"); err != nil { // it does not fit
			v, err = messages.MaxDuration+1, nil
		}
	}
	switch {
	case err != nil:
		e := messages.Invalid(d.reason(), fmt.Sprintf("%s %q is no duration", d.label(), s))
		e.Hint = "write seconds, or a number and its unit: 90, 500ms, 10m, 1h30m"
		return e
	case v < 0:
		e := messages.Invalid(d.reason(), fmt.Sprintf("%s %s is negative", d.label(), s))
		e.Hint = "write how long it may take, like 90s"
		return e
	case v == 0 && !d.zero:
		e := messages.Invalid(d.reason(), fmt.Sprintf("%s 0 would be over before it begins", d.label()))
		e.Hint = d.none()
		return e
	case v > messages.MaxDuration:
		e := messages.Invalid(d.reason(), fmt.Sprintf("%s %s is more than ten years", d.label(), s))
		e.Hint = d.none()
		return e
	}
	d.d, d.set = v, true
	return nil
}

// none is how to have no such time.
func (d *durationFlag) none() string {
	if d.bare {
		return "write none for no " + d.name
	}
	return "leave it out for none"
}

// label is how it is called where it is typed.
func (d *durationFlag) label() string {
	if d.bare {
		return d.name
	}
	return "--" + d.name
}

func (d *durationFlag) reason() string { return strings.ReplaceAll(d.name, "-", "_") }

// lineNumber is a flag whose value is a number of lines, or of one: 010 is ten.
type lineNumber struct {
	name string
	n    *int64
}

// String implements pflag.Value; the default is none.
func (l *lineNumber) String() string {
	if l.n == nil || *l.n == 0 {
		return ""
	}
	return strconv.FormatInt(*l.n, 10)
}

// Type implements pflag.Value.
func (*lineNumber) Type() string { return "N" }

// Set implements pflag.Value.
func (l *lineNumber) Set(s string) error {
	if strings.HasPrefix(s, "+") {
		e := messages.Invalid(l.name, fmt.Sprintf("--%s %s may be a number, or from that line on, as tail has it", l.name, s))
		e.Hint = "--offset N shows what is from line N on; a number is written without a sign"
		return e
	}
	n, err := strconv.ParseInt(s, 10, 64)
	*l.n = n
	return err
}

// seqNumber is a flag whose value is the number of an event.
type seqNumber uint64

// String implements pflag.Value.
func (n *seqNumber) String() string { return strconv.FormatUint(uint64(*n), 10) }

// Type implements pflag.Value.
func (*seqNumber) Type() string { return "SEQ" }

// Set implements pflag.Value.
func (n *seqNumber) Set(s string) error {
	v, err := strconv.ParseUint(s, 10, 64)
	*n = seqNumber(v)
	return err
}

// enumFlag is a flag whose value is one of a few words, which the help shows. It is
// checked with the request.
type enumFlag struct{ kind, value string }

// String implements pflag.Value.
func (w *enumFlag) String() string { return w.value }

// Type implements pflag.Value.
func (w *enumFlag) Type() string { return w.kind }

// Set implements pflag.Value.
func (w *enumFlag) Set(s string) error {
	w.value = s
	return nil
}

// quotaFlag is the flag --max-output: N, or N:POLICY.
type quotaFlag struct{ messages.Quota }

// String implements pflag.Value.
func (q *quotaFlag) String() string {
	if q.Bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%d:%s", q.Bytes, q.Policy)
}

// Type implements pflag.Value.
func (*quotaFlag) Type() string { return "N[:POLICY]" }

// Set implements pflag.Value. The policy is checked with the request.
func (q *quotaFlag) Set(s string) error {
	size, policy, named := strings.Cut(s, ":")
	n, err := bytesOf(size)
	bad := messages.Invalid("max_output", fmt.Sprintf("--max-output %q is no size", s))
	bad.Hint = "write a number of bytes, and what to do there: 100MB, 64MiB:keep_head, 1GB:pause"
	switch {
	case err != nil || n > math.MaxInt64 || named && policy == "":
		return bad
	case n == 0:
		bad.Message = "--max-output 0 would keep nothing"
		return bad
	}
	q.Quota = messages.Quota{Bytes: int64(n), Policy: policy}
	return nil
}

// bytesOf reads a size. A comma is refused: to some it is a point, and the library leaves
// it out.
func bytesOf(size string) (uint64, error) {
	if strings.Contains(size, ",") {
		return 0, strconv.ErrSyntax
	}
	return humanize.ParseBytes(size)
}
