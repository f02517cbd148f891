package messages

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The notice conversation: a job's end is told to whoever its request names in
// OnFinish, a command or a URL, at least once and under one number.
//
//	channel --Notification--> webhook | errand   (one at a time, in order)
//	webhook --Delivery--> a URL, by whoever sends it; --Delivered--> webhook
//	errand --RunCommand, WriteInput, CloseInput, WaitJobs--> supervisor   (the command is a job)
//
// The last word about each notice is the fact CommandNotified.

// Notice is one party that is told of a job's end, and how far that is.
type Notice struct {
	To    string      // a text for the shell, or an http or https URL
	State NoticeState // pending until it is delivered or given up
	Seq   Seq         // of the CommandFinished that it tells; 0 before that
	Tries int         // it took, once it is over
	Err   Error       // why it was given up
}

// NoticeState says how far a notice is.
type NoticeState string

// The states. The last two are for ever.
const (
	NoticePending   NoticeState = "pending"
	NoticeDelivered NoticeState = "delivered"
	NoticeGivenUp   NoticeState = "given_up"
)

// NoticeScope owns the jobs by which commands are told of an end. What runs in it
// or below it tells nobody: a notice has no notices.
const NoticeScope ScopePath = "notify"

// Bounds of the notices of one job. They go along wherever its record goes.
const (
	MaxNotices     = 4
	MaxNoticeBytes = 1024 // of all of them together
)

// CommandNotified reports that one notice of a job's end is over: it was delivered
// or given up. It may come behind the job's last word.
type CommandNotified struct {
	quiet
	Job Job
}

// Delivery is a notice for a URL.
type Delivery struct {
	To  string
	Seq Seq
	Job Job // as CommandFinished had it
}

// ID names what is delivered: it is the same at every try, and no other's.
func (d Delivery) ID() string { return fmt.Sprintf("%s.%d", d.Job.UID, d.Seq) }

// Delivered reports what became of one try.
type Delivered struct {
	quiet
	Err   Error         // why it was not taken; the zero value: it was
	Gone  bool          // and never will be
	After time.Duration // how long the receiver wants to be left alone; 0: it did not say
}

// Notices are those of a request that nothing was told to yet.
func Notices(to []string) []Notice {
	var all []Notice
	for _, t := range to {
		all = append(all, Notice{To: t, State: NoticePending})
	}
	return all
}

// IsURL says whether a notice goes to a URL; else it goes to a command.
func IsURL(to string) bool {
	scheme, _, ok := strings.Cut(to, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

func (r RunCommand) checkNotices() *Error {
	bytes := 0
	for i, to := range r.OnFinish {
		bytes += len(to)
		for _, other := range r.OnFinish[:i] {
			if to == other {
				return Invalid("on_finish", "the same command or URL is to be told twice; name it once")
			}
		}
		if err := checkNotice(to); err != nil {
			return err
		}
	}
	switch {
	case len(r.OnFinish) > MaxNotices || bytes > MaxNoticeBytes:
		return &Error{
			Code: TooLarge, Reason: "on_finish",
			Message: fmt.Sprintf("the end of a job can be told to at most %d commands and URLs, of %d bytes together", MaxNotices, MaxNoticeBytes),
			Hint:    "put a long command into a file, and name that",
		}
	case len(r.OnFinish) > 0 && NoticeScope.Contains(r.Scope):
		return &Error{
			Code: Refused, Reason: "on_finish",
			Message: fmt.Sprintf("what runs in the scope %s tells nobody of its end: a notice would cause another", NoticeScope),
			Hint:    "leave --on-finish out, or run the job in another scope",
		}
	}
	return nil
}

func checkNotice(to string) *Error {
	switch {
	case strings.TrimSpace(to) == "":
		return Invalid("on_finish", "what is to be told of the end is empty; give a command or a URL")
	case strings.ContainsRune(to, 0) || !utf8.ValidString(to):
		return Invalid("on_finish", "a command or URL that is told of the end must be UTF-8 text without NUL bytes")
	case !IsURL(to):
		return nil
	}
	_, rest, _ := strings.Cut(to, "://")
	host := rest[:len(rest)-len(strings.TrimLeftFunc(rest, func(c rune) bool { return !strings.ContainsRune("/?#", c) }))]
	odd := func(c rune) bool { return c <= ' ' || c >= 0x7f }
	switch {
	case strings.Trim(host, ":@") == "" || host[0] == ':' || strings.ContainsFunc(to, odd):
		return Invalid("on_finish", "the URL that is to be told of the end cannot be read; give one like https://host/path")
	case !strings.Contains(host, "@") && !hasPlace(host):
		return Invalid("on_finish", "the host or the port of the URL that is to be told of the end cannot be read; give one like https://host:8080/path")
	case strings.Contains(host, "@"):
		return Invalid("on_finish", "a URL that is told of the end may hold no password: the record shows it; what is sent is signed instead")
	}
	return nil
}

// hasPlace says whether a host, perhaps with a port, can be one: a literal address of
// IPv6 is in brackets, a port is a number.
func hasPlace(host string) bool {
	rest := host
	if inner, ok := strings.CutPrefix(host, "["); ok {
		address, behind, closed := strings.Cut(inner, "]")
		if !closed || !strings.Contains(address, ":") || behind != "" && behind[0] != ':' {
			return false
		}
		rest = behind
	}
	_, port, ok := strings.Cut(rest, ":")
	if !ok || port == "" { // it is that of the scheme
		return true
	}
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}
