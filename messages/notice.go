package messages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The notice conversation: OnFinish of a request names commands and URLs that receive the
// job's end, at least once and under one number.
//
//	channel --Notification--> webhook notifier | command notifier   (one at a time, in order)
//	webhook notifier --Delivery--> Webhooks, which post it; --Delivered--> webhook notifier
//	command notifier --RunCommand, WriteInput, CloseInput, WaitJobs--> supervisor   (the command is a job)
//
// The last message about a notice is the fact CommandNotified.

// Notice is one delivery of a job's end, and its state.
type Notice struct {
	To    string      `json:"to" cbor:"1,keyasint,omitzero"`    // shell text, or an http or https URL
	State NoticeState `json:"state" cbor:"2,keyasint,omitzero"` // pending until it is delivered or given up
	Seq   Seq         `json:"seq" cbor:"3,keyasint,omitzero"`   // of the CommandFinished that it delivers; 0 before that
	Tries int         `json:"tries" cbor:"4,keyasint,omitzero"` // number of tries, once it is over
	Err   Error       `json:"error" cbor:"5,keyasint,omitzero"` // why it was given up
}

// NoticeState is the state of a notice.
type NoticeState string

// The states. NoticeDelivered and NoticeGivenUp are final.
const (
	NoticePending   NoticeState = "pending"
	NoticeDelivered NoticeState = "delivered"
	NoticeGivenUp   NoticeState = "given_up"
)

// NoticeScope owns the jobs that notices run. Jobs in it or below it have no notices.
const NoticeScope ScopePath = "notify"

// Bounds of the notices of one job. Every copy of its record has them.
const (
	MaxNotices     = 4
	MaxNoticeBytes = 1024 // of all of them together
)

// CommandNotified reports that one notice of a job's end was delivered or given up. It may
// come after CommandRetired.
type CommandNotified struct {
	ofJob
	Job Record
}

// Delivery is a notice for a URL.
type Delivery struct {
	To  string
	Seq Seq
	Job Record // as in CommandFinished
}

// ID returns the name of the delivery: the same at every try, and unique.
func (d Delivery) ID() string { return fmt.Sprintf("%s.%d", d.Job.UID, d.Seq) }

// Delivered reports the result of one try.
type Delivered struct {
	quiet
	Err   Error         // why the receiver did not take it; zero: it did
	Gone  bool          // the receiver will never take it
	After time.Duration // how long to wait before the next try; 0: the receiver did not say
}

// Notices returns pending notices for the commands and URLs of a request.
func Notices(to []string) []Notice {
	var all []Notice
	for _, t := range to {
		all = append(all, Notice{To: t, State: NoticePending})
	}
	return all
}

// IsURL reports whether a notice goes to a URL. All others go to a command.
func IsURL(to string) bool {
	scheme, _, ok := strings.Cut(to, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

func (r RunCommand) checkNotices() *Error {
	bytes := 0
	for i, to := range r.OnFinish {
		bytes += len(to)
		if slices.Contains(r.OnFinish[:i], to) {
			return Invalid("on_finish", "a command or URL is named twice in on_finish; name it once")
		}
		if err := checkNotice(to); err != nil {
			return err
		}
	}
	switch {
	case len(r.OnFinish) > MaxNotices || bytes > MaxNoticeBytes:
		return &Error{
			Code: TooLarge, Reason: "on_finish",
			Message: fmt.Sprintf("on_finish takes at most %d commands and URLs, of %d bytes together", MaxNotices, MaxNoticeBytes),
			Hint:    "put a long command into a file, and name that",
		}
	case len(r.OnFinish) > 0 && NoticeScope.Contains(r.Scope):
		return &Error{
			Code: Refused, Reason: "on_finish",
			Message: fmt.Sprintf("a job in the scope %s cannot have notices: each would cause another", NoticeScope),
			Hint:    "leave --on-finish out, or run the job in another scope",
		}
	}
	return nil
}

func checkNotice(to string) *Error {
	switch {
	case strings.TrimSpace(to) == "":
		return Invalid("on_finish", "a command or URL in on_finish is empty; give a command or a URL")
	case strings.ContainsRune(to, 0) || !utf8.ValidString(to):
		return Invalid("on_finish", "a command or URL in on_finish must be UTF-8 text without NUL bytes")
	case looksLikeURL(to):
		return Invalid("on_finish", "invalid URL in on_finish: give one that begins with http:// or https://, or a command")
	case !IsURL(to):
		return nil
	}
	_, rest, _ := strings.Cut(to, "://")
	host := rest[:len(rest)-len(strings.TrimLeftFunc(rest, func(c rune) bool { return !strings.ContainsRune("/?#", c) }))]
	odd := func(c rune) bool { return c <= ' ' || c >= 0x7f }
	switch {
	case strings.Trim(host, ":@") == "" || host[0] == ':' || strings.ContainsFunc(to, odd):
		return Invalid("on_finish", "invalid URL in on_finish: give one like https://host/path")
	case !strings.Contains(host, "@") && !validHost(host):
		return Invalid("on_finish", "invalid host or port of a URL in on_finish: give one like https://host:8080/path")
	case strings.Contains(host, "@"):
		return Invalid("on_finish", "a URL in on_finish must not contain a password, because the record shows it; check the signature of the notice instead")
	}
	return nil
}

// looksLikeURL reports whether a text is meant as a URL, but would run as a command: it
// begins with another scheme, a misspelt one, or a host.
func looksLikeURL(to string) bool {
	if IsURL(to) {
		return false
	}
	word := strings.TrimLeft(to, " \t\r\n\"'<")
	if i := strings.IndexAny(word, " \t\r\n"); i >= 0 {
		word = word[:i]
	}
	rest := strings.TrimLeftFunc(word, func(c rune) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("+-.", c)
	})
	name := strings.ToLower(word[:len(word)-len(rest)])
	begins := func(marks ...string) bool {
		return slices.ContainsFunc(marks, func(mark string) bool { return strings.HasPrefix(rest, mark) })
	}
	likeHTTP := name == "ftp" || len(name) > 2 && strings.Trim(name, "htps") == ""
	switch {
	case name == "":
		return false
	case begins(":/", `:\`), likeHTTP && begins(":", "//", ";/"):
		return true
	case strings.HasPrefix(name, "www.") && strings.Count(name, ".") > 1:
		return true
	}
	return len(rest) > 1 && rest[0] == ':' && '0' <= rest[1] && rest[1] <= '9' // a port
}

// validHost reports whether host is valid, perhaps with a port: a literal IPv6 address
// stands in brackets, a port is a number.
func validHost(host string) bool {
	rest := host
	if inner, ok := strings.CutPrefix(host, "["); ok {
		address, after, closed := strings.Cut(inner, "]")
		if !closed || !strings.Contains(address, ":") || after != "" && after[0] != ':' {
			return false
		}
		rest = after
	}
	_, port, ok := strings.Cut(rest, ":")
	if !ok || port == "" { // the scheme has a default port
		return true
	}
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}
