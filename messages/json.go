package messages

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Version is the field "v" of every object. It changes when a field changes its meaning,
// not when a field is added.
type Version struct{}

// JSONVersion is the value of each Version.
const JSONVersion = 1

// record is a job without its methods.
type record Record

// jobObject is the job object of docs/cli.md.
type jobObject struct {
	record   `json:",embed"`
	Duration *int64 `json:"duration_ms"` // nil: it has not ended, or never started

	IdleTimeout time.Duration `json:"idle_timeout_ms,omitzero"` // of Record.Request, with the next
	RerunOf     UID           `json:"rerun_of,omitzero"`
}

// MarshalJSON returns the job object of docs/cli.md. What is absent is null; lists are
// never null, except argv of a job without one. Times are RFC 3339 in UTC with
// nanoseconds; a time outside of its range is an error.
func (j Record) MarshalJSON() ([]byte, error) {
	o := jobObject{record: record(j), IdleTimeout: j.IdleTimeout(), RerunOf: j.RerunOf()}
	if !j.Started.IsZero() && !j.End.At.IsZero() {
		o.Duration = new(j.Duration().Milliseconds())
	}
	if j.HasFlag(FlagOutputLost) {
		return json.Marshal(&o, lostOutput())
	}
	return json.Marshal(&o, written())
}

// UnmarshalJSON reads a job object. It passes over fields that it does not know, which a
// newer daemon may send.
func (j *Record) UnmarshalJSON(b []byte) error {
	var o jobObject
	if err := json.Unmarshal(b, &o, read()); err != nil {
		return err
	}
	*j = Record(o.record)
	if j.Request != nil {
		j.Request.IdleTimeout, j.Request.RerunOf = o.IdleTimeout, o.RerunOf
	}
	return nil
}

// How the values of a type are written, where JSON shows them in another form than Go.
var (
	written    = sync.OnceValue(func() json.Options { return writing(false) })
	lostOutput = sync.OnceValue(func() json.Options { return writing(true) })
	read       = sync.OnceValue(func() json.Options {
		return json.WithUnmarshalers(json.JoinUnmarshalers(
			json.UnmarshalFromFunc(func(d *jsontext.Decoder, _ *Version) error { return d.SkipValue() }),
			json.UnmarshalFromFunc(readTristate), json.UnmarshalFromFunc(readDuration), json.UnmarshalFromFunc(readOutputs),
		))
	})
)

func writing(lost bool) json.Options {
	return json.JoinOptions(jsontext.AllowInvalidUTF8(true), json.WithMarshalers(json.JoinMarshalers(
		json.MarshalToFunc(func(e *jsontext.Encoder, _ Version) error { return e.WriteToken(jsontext.Int(JSONVersion)) }),
		json.MarshalToFunc(nullIfAbsent[string]), json.MarshalToFunc(nullIfAbsent[int]), json.MarshalToFunc(nullIfZero[Outcome]),
		json.MarshalToFunc(nullIfZero[Cause]), json.MarshalToFunc(nullIfZero[Error]), json.MarshalToFunc(nullIfZero[Rusage]), json.MarshalToFunc(nullIfZero[Terminal]),
		json.MarshalToFunc(writeState), json.MarshalToFunc(writeTristate), json.MarshalToFunc(writeTexts), json.MarshalToFunc(writeDuration), json.MarshalToFunc(writeTime),
		outputs(lost),
	)))
}

// absent reports whether the zero value of the field being written means that there is none.
func absent(e *jsontext.Encoder) bool {
	switch at := e.StackPointer(); at {
	case "/name", "/signal", "/pid", "/timeout_ms":
		return true
	default:
		return at.LastToken() == "file"
	}
}

func nullIfAbsent[T comparable](e *jsontext.Encoder, v T) error {
	if v != *new(T) || !absent(e) {
		return errors.ErrUnsupported
	}
	return e.WriteToken(jsontext.Null)
}

func nullIfZero[T comparable](e *jsontext.Encoder, v T) error {
	if v != *new(T) {
		return errors.ErrUnsupported
	}
	return e.WriteToken(jsontext.Null)
}

// writeState shows users one final state.
func writeState(e *jsontext.Encoder, s State) error {
	if s == Retired {
		s = Finished
	}
	return e.WriteToken(jsontext.String(string(s)))
}

func writeTristate(e *jsontext.Encoder, t Tristate) error {
	if t == Unknown {
		return e.WriteToken(jsontext.Null)
	}
	return e.WriteToken(jsontext.Bool(t == Yes))
}

func readTristate(d *jsontext.Decoder, into *Tristate) error {
	var is *bool
	err := json.UnmarshalDecode(d, &is)
	switch {
	case is == nil:
		*into = Unknown
	case *is:
		*into = Yes
	default:
		*into = No
	}
	return err
}

func writeTexts(e *jsontext.Encoder, list []string) error {
	if list != nil || e.StackPointer() != "/argv" {
		return errors.ErrUnsupported
	}
	return e.WriteToken(jsontext.Null)
}

func writeDuration(e *jsontext.Encoder, d time.Duration) error {
	ms := d.Milliseconds()
	if ms <= 0 && absent(e) {
		return e.WriteToken(jsontext.Null)
	}
	return e.WriteToken(jsontext.Int(ms))
}

func readDuration(d *jsontext.Decoder, into *time.Duration) error {
	var ms int64
	err := json.UnmarshalDecode(d, &ms)
	*into = time.Duration(ms) * time.Millisecond
	return err
}

func writeTime(e *jsontext.Encoder, t time.Time) error {
	if t.IsZero() {
		return e.WriteToken(jsontext.Null)
	}
	text, err := t.UTC().MarshalText()
	if err != nil {
		return err
	}
	return e.WriteToken(jsontext.String(string(text)))
}

// outputs writes an object by stream, in the order of the names. Of several entries for a
// stream the last one counts. The size of a lost output is unknown.
func outputs(lost bool) *json.Marshalers {
	return json.MarshalToFunc(func(e *jsontext.Encoder, all []StreamOutput) error {
		if err := e.WriteToken(jsontext.BeginObject); err != nil {
			return err
		}
		for _, stream := range [...]Stream{Merged, Stderr, Stdout} {
			for _, s := range slices.Backward(all) {
				if s.Stream != stream {
					continue
				}
				o := streamObject{StreamOutput: s, Bytes: &s.Bytes}
				if lost && s.Bytes == 0 {
					o.Bytes = nil
				}
				if err := e.WriteToken(jsontext.String(stream.String())); err != nil {
					return err
				}
				if err := json.MarshalEncode(e, &o); err != nil {
					return err
				}
				break
			}
		}
		return e.WriteToken(jsontext.EndObject)
	})
}

// streamObject is the object of an output, whose size may be unknown.
type streamObject struct {
	Bytes        *int64 `json:"bytes"`
	StreamOutput `json:",embed"`
}

func readOutputs(d *jsontext.Decoder, into *[]StreamOutput) error {
	var all map[string]StreamOutput
	if err := json.UnmarshalDecode(d, &all); err != nil {
		return err
	}
	*into = nil
	for _, stream := range [...]Stream{Merged, Stdout, Stderr} {
		if s, ok := all[stream.String()]; ok {
			s.Stream = stream
			*into = append(*into, s)
		}
	}
	return nil
}
