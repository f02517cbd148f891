package flags

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"troupe/messages"
)

// IsSeconds reports whether s is a number of seconds without a unit, as timeout, sleep and
// systemd take it. It rejects exponents and other forms of numbers.
func IsSeconds(s string) bool {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	whole, part, _ := strings.Cut(s, ".")
	digits := whole + part
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// Duration is the value of a flag that takes a time, such as 90, 1.5s or 1h30m.
type Duration struct {
	Name  string
	Zero  bool // 0 is allowed
	Bare  bool // an argument, not a flag
	D     time.Duration
	Given bool
}

// String implements pflag.Value. It returns "" before Set, so the help shows no default.
func (d *Duration) String() string {
	if !d.Given {
		return ""
	}
	return d.D.String()
}

// Type implements pflag.Value with the name of the value in the help.
func (*Duration) Type() string { return "D" }

// Set implements pflag.Value.
func (d *Duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	if IsSeconds(s) {
		if v, err = time.ParseDuration(s + "s"); err != nil { // too large for time.Duration
			v, err = messages.MaxDuration+1, nil
		}
	}
	switch {
	case err != nil:
		e := messages.Invalid(d.reason(), fmt.Sprintf("invalid %s %q", d.label(), s))
		e.Hint = "use seconds, or a number with a unit: 90, 500ms, 10m, 1h30m"
		return e
	case v < 0:
		e := messages.Invalid(d.reason(), fmt.Sprintf("%s %s is negative", d.label(), s))
		e.Hint = "use a positive duration, such as 90s"
		return e
	case v == 0 && !d.Zero:
		e := messages.Invalid(d.reason(), fmt.Sprintf("%s 0 would expire at once", d.label()))
		e.Hint = d.none()
		return e
	case v > messages.MaxDuration:
		e := messages.Invalid(d.reason(), fmt.Sprintf("%s %s is more than ten years", d.label(), s))
		e.Hint = d.none()
		return e
	}
	d.D, d.Given = v, true
	return nil
}

// none explains how to request no such time.
func (d *Duration) none() string {
	if d.Bare {
		return "use none for no " + d.Name
	}
	return "leave the flag out instead"
}

// label returns the name as a user types it.
func (d *Duration) label() string {
	if d.Bare {
		return d.Name
	}
	return "--" + d.Name
}

func (d *Duration) reason() string { return strings.ReplaceAll(d.Name, "-", "_") }

// LineNumber is the value of a flag that takes a count of lines or a line number. It is
// decimal: 010 is ten.
type LineNumber struct {
	Name string
	N    *int64
}

// String implements pflag.Value. It returns "" for 0, so the help shows no default.
func (l *LineNumber) String() string {
	if l.N == nil || *l.N == 0 {
		return ""
	}
	return strconv.FormatInt(*l.N, 10)
}

// Type implements pflag.Value.
func (*LineNumber) Type() string { return "N" }

// Set implements pflag.Value.
func (l *LineNumber) Set(s string) error {
	if strings.HasPrefix(s, "+") {
		e := messages.Invalid(l.Name, fmt.Sprintf("--%s %s is ambiguous: tail -n +N starts at line N", l.Name, s))
		e.Hint = "use --offset N to start at line N, or a number without a sign"
		return e
	}
	n, err := strconv.ParseInt(s, 10, 64)
	*l.N = n
	return err
}

// Seq is the value of a flag that takes the number of an event.
type Seq uint64

// String implements pflag.Value.
func (n *Seq) String() string { return strconv.FormatUint(uint64(*n), 10) }

// Type implements pflag.Value.
func (*Seq) Type() string { return "SEQ" }

// Set implements pflag.Value.
func (n *Seq) Set(s string) error {
	v, err := strconv.ParseUint(s, 10, 64)
	*n = Seq(v)
	return err
}

// Enum is the value of a flag that takes one of the words in Kind, which the help shows. Set
// does not check it; the check of the request does.
type Enum struct{ Kind, Value string }

// String implements pflag.Value.
func (w *Enum) String() string { return w.Value }

// Type implements pflag.Value.
func (w *Enum) Type() string { return w.Kind }

// Set implements pflag.Value.
func (w *Enum) Set(s string) error {
	w.Value = s
	return nil
}

// Quota is the value of --max-output: N or N:POLICY.
type Quota struct{ messages.Quota }

// String implements pflag.Value.
func (q *Quota) String() string {
	if q.Bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%d:%s", q.Bytes, q.Policy)
}

// Type implements pflag.Value.
func (*Quota) Type() string { return "N[:POLICY]" }

// Set implements pflag.Value. The check of the request checks the policy.
func (q *Quota) Set(s string) error {
	size, policy, named := strings.Cut(s, ":")
	n, err := BytesOf(size)
	bad := messages.Invalid("max_output", fmt.Sprintf("invalid --max-output %q", s))
	bad.Hint = "use a size, and a policy if needed, such as 100MB, 64MiB:keep_head or 1GB:pause"
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

// BytesOf parses a size. It rejects a comma, which can mean a decimal point and which
// humanize would ignore.
func BytesOf(size string) (uint64, error) {
	if strings.Contains(size, ",") {
		return 0, strconv.ErrSyntax
	}
	return humanize.ParseBytes(size)
}
