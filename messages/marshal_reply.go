package messages

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The JSON of replies: by tags. Lists are never null. A reply does not repeat what its request
// named. Readers pass over fields that they do not know, which a newer daemon may send.
var replies = json.JoinOptions(jsontext.AllowInvalidUTF8(true), json.Deterministic(true))

// MarshalReply returns a reply as JSON. Bytes that are not UTF-8 become U+FFFD.
func MarshalReply(v any) ([]byte, error) { return json.Marshal(v, replies) }

// UnmarshalReply reads a reply.
func UnmarshalReply(b []byte, v any) error { return json.Unmarshal(b, v) }

// MarshalJSON implements json.Marshaler.
func (Version) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "%d", JSONVersion), nil }

// UnmarshalJSON implements json.Unmarshaler. It takes any version.
func (*Version) UnmarshalJSON([]byte) error { return nil }

// NoJobs is the list of a reply that never names a job.
type NoJobs struct{}

// MarshalJSON implements json.Marshaler.
func (NoJobs) MarshalJSON() ([]byte, error) { return []byte("[]"), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (*NoJobs) UnmarshalJSON([]byte) error { return nil }

// MarshalJSON implements json.Marshaler: a stream is its name.
func (s Stream) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *Stream) UnmarshalJSON(b []byte) error {
	var name string
	if err := json.Unmarshal(b, &name); err != nil {
		return NoStream(string(b))
	}
	of, err := StreamOf(name)
	if err != nil {
		return err
	}
	*s = of
	return nil
}

// StreamOf returns the stream with a name; "" is merged.
func StreamOf(name string) (Stream, error) {
	for _, s := range []Stream{Merged, Stdout, Stderr, Both} {
		if name == s.String() {
			return s, nil
		}
	}
	if name == "" {
		return Merged, nil
	}
	return 0, NoStream(name)
}

// NoStream returns the error for a stream that a request cannot name.
func NoStream(name string) *Error {
	return Invalid("stream", fmt.Sprintf("invalid stream %.64q: use merged, stdout or stderr", name))
}

// MarshalJSON implements json.Marshaler.
func (r JobFound) MarshalJSON() ([]byte, error) { return r.Job.MarshalJSON() }

// UnmarshalJSON implements json.Unmarshaler.
func (r *JobFound) UnmarshalJSON(b []byte) error { return r.Job.UnmarshalJSON(b) }

// MarshalJSON implements json.Marshaler: the reply to a promotion is the record.
func (f CommandPromoted) MarshalJSON() ([]byte, error) { return f.Job.MarshalJSON() }

// UnmarshalJSON implements json.Unmarshaler.
func (f *CommandPromoted) UnmarshalJSON(b []byte) error { return f.Job.UnmarshalJSON(b) }

// page is an OutputPage without its methods.
type page OutputPage

// pageObject is the object of a page, whose lines may not be counted.
type pageObject struct {
	page  `json:",embed"`
	Lines *int64 `json:"lines"`
}

// MarshalJSON implements json.Marshaler.
func (p OutputPage) MarshalJSON() ([]byte, error) {
	o := pageObject{page: page(p)}
	if p.Lines != 0 || p.LinesExact { // a view of the last bytes needs no line count
		o.Lines = &p.Lines
	}
	return MarshalReply(&o)
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *OutputPage) UnmarshalJSON(b []byte) error {
	var o pageObject
	if err := UnmarshalReply(b, &o); err != nil {
		return err
	}
	*p = OutputPage(o.page)
	if o.Lines != nil {
		p.Lines = *o.Lines
	}
	return nil
}
