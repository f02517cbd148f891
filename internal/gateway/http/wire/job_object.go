package wire

import (
	"time"

	"github.com/go-faster/jx"

	"troupe/messages"
)

// jobObject is the job object of messages.Job for decoding.
type jobObject struct {
	ID          messages.JobID          `json:"id"`
	UID         messages.UID            `json:"uid"`
	Scope       messages.ScopePath      `json:"scope"`
	Session     messages.SessionID      `json:"session"`
	Name        string                  `json:"name"`
	Tag         string                  `json:"tag"`
	Command     string                  `json:"command"`
	Argv        []string                `json:"argv"`
	Description string                  `json:"description"`
	Mode        messages.Mode           `json:"mode"`
	Backend     string                  `json:"backend"`
	State       messages.State          `json:"state"`
	Background  bool                    `json:"background"`
	Outcome     messages.Outcome        `json:"outcome"`
	ExitCode    *int                    `json:"exit_code"`
	Signal      *string                 `json:"signal"`
	Cause       messages.Cause          `json:"cause"`
	Error       messages.Error          `json:"error"`
	OOM         *bool                   `json:"oom"`
	OutputOpen  bool                    `json:"output_open"`
	Children    int                     `json:"background_children"`
	Survivors   []messages.Survivor     `json:"survivors"`
	Flags       []messages.Flag         `json:"flags"`
	EnvDropped  []string                `json:"env_dropped"`
	TimeoutMS   int64                   `json:"timeout_ms"`
	Deadline    time.Time               `json:"deadline"`
	PID         int                     `json:"pid"`
	Isolation   messages.Isolation      `json:"isolation"`
	Dir         string                  `json:"cwd"`
	Created     time.Time               `json:"created_at"`
	Started     time.Time               `json:"started_at"`
	Ended       time.Time               `json:"finished_at"`
	Rusage      *rusageObject           `json:"rusage"`
	Waiting     bool                    `json:"waiting_for_input"`
	Secret      bool                    `json:"waiting_for_secret"`
	Terminal    messages.Terminal       `json:"terminal"`
	Output      map[string]streamObject `json:"output"`
	OnFinish    []noticeObject          `json:"on_finish"`
	Seq         messages.Seq            `json:"seq"`
}

type noticeObject struct {
	To    string               `json:"to"`
	State messages.NoticeState `json:"state"`
	Seq   messages.Seq         `json:"seq"`
	Tries int                  `json:"tries"`
	Error messages.Error       `json:"error"`
}

type rusageObject struct {
	UserMS int64 `json:"user_ms"`
	SysMS  int64 `json:"sys_ms"`
	MaxRSS int64 `json:"max_rss_kib"`
}

type streamObject struct {
	Bytes      int64                `json:"bytes"`
	Lines      *int64               `json:"lines"`
	LinesExact bool                 `json:"lines_exact"`
	File       string               `json:"file"`
	Elided     []messages.OutputGap `json:"elided"`
}

// resultObject is a job object, perhaps with the fields of Shown.
type resultObject struct {
	jobObject
	Text      *string `json:"text"`
	Truncated bool    `json:"truncated"`
}

// resultFields are in the order in which the server writes them.
var resultFields = [...]field[resultObject]{
	{"id", func(d *jx.Decoder, o *resultObject) error { return text(d, &o.ID) }},
	{"uid", func(d *jx.Decoder, o *resultObject) error { return text(d, &o.UID) }},
	{"scope", func(d *jx.Decoder, o *resultObject) error { return text(d, &o.Scope) }},
	{"session", func(d *jx.Decoder, o *resultObject) error { return text(d, &o.Session) }},
	{"name", func(d *jx.Decoder, o *resultObject) error { return text(d, &o.Name) }},
	{"tag", func(d *jx.Decoder, o *resultObject) error { return text(d, &o.Tag) }},
	{"command", func(d *jx.Decoder, o *resultObject) error { return text(d, &o.Command) }},
	{"argv", func(d *jx.Decoder, o *resultObject) error { return texts(d, &o.Argv) }},
	{"description", func(d *jx.Decoder, o *resultObject) error { return text(d, &o.Description) }},
	{"mode", func(d *jx.Decoder, o *resultObject) error { return text(d, &o.Mode) }},
	{"backend", func(d *jx.Decoder, o *resultObject) error { return text(d, &o.Backend) }},
	{"state", func(d *jx.Decoder, o *resultObject) error { return text(d, &o.State) }},
	{"background", func(d *jx.Decoder, o *resultObject) error { return optionalBool(d, &o.Background) }},
	{"outcome", func(d *jx.Decoder, o *resultObject) error { return text(d, &o.Outcome) }},
	{"exit_code", func(d *jx.Decoder, o *resultObject) error { return fieldSet(d, &o.ExitCode, whole[int]) }},
	{"signal", func(d *jx.Decoder, o *resultObject) error { return fieldSet(d, &o.Signal, text[string]) }},
	{"cause", func(d *jx.Decoder, o *resultObject) error { return rest(d, &o.Cause) }},
	{"error", func(d *jx.Decoder, o *resultObject) error { return rest(d, &o.Error) }},
	{"oom", func(d *jx.Decoder, o *resultObject) error { return fieldSet(d, &o.OOM, optionalBool) }},
	{"output_open", func(d *jx.Decoder, o *resultObject) error { return optionalBool(d, &o.OutputOpen) }},
	{"background_children", func(d *jx.Decoder, o *resultObject) error { return whole(d, &o.Children) }},
	{"survivors", func(d *jx.Decoder, o *resultObject) error { return list(d, &o.Survivors, rest) }},
	{"flags", func(d *jx.Decoder, o *resultObject) error { return texts(d, &o.Flags) }},
	{"env_dropped", func(d *jx.Decoder, o *resultObject) error { return texts(d, &o.EnvDropped) }},
	{"timeout_ms", func(d *jx.Decoder, o *resultObject) error { return whole(d, &o.TimeoutMS) }},
	{"deadline", func(d *jx.Decoder, o *resultObject) error { return moment(d, &o.Deadline) }},
	{"pid", func(d *jx.Decoder, o *resultObject) error { return whole(d, &o.PID) }},
	{"isolation", func(d *jx.Decoder, o *resultObject) error { return text(d, &o.Isolation) }},
	{"cwd", func(d *jx.Decoder, o *resultObject) error { return text(d, &o.Dir) }},
	{"created_at", func(d *jx.Decoder, o *resultObject) error { return moment(d, &o.Created) }},
	{"started_at", func(d *jx.Decoder, o *resultObject) error { return moment(d, &o.Started) }},
	{"finished_at", func(d *jx.Decoder, o *resultObject) error { return moment(d, &o.Ended) }},
	{"rusage", func(d *jx.Decoder, o *resultObject) error { return fieldSet(d, &o.Rusage, rusage) }},
	{"waiting_for_input", func(d *jx.Decoder, o *resultObject) error { return optionalBool(d, &o.Waiting) }},
	{"waiting_for_secret", func(d *jx.Decoder, o *resultObject) error { return optionalBool(d, &o.Secret) }},
	{"terminal", func(d *jx.Decoder, o *resultObject) error { return rest(d, &o.Terminal) }},
	{"output", func(d *jx.Decoder, o *resultObject) error { return streams(d, &o.Output) }},
	{"on_finish", func(d *jx.Decoder, o *resultObject) error { return list(d, &o.OnFinish, rest) }},
	{"seq", func(d *jx.Decoder, o *resultObject) error { return count(d, &o.Seq) }},
	{"text", func(d *jx.Decoder, o *resultObject) error { return fieldSet(d, &o.Text, text[string]) }},
	{"truncated", func(d *jx.Decoder, o *resultObject) error { return optionalBool(d, &o.Truncated) }},
}

func result(d *jx.Decoder, into *resultObject) error { return read(d, resultFields[:], into) }

var rusageFields = [...]field[rusageObject]{
	{"user_ms", func(d *jx.Decoder, o *rusageObject) error { return whole(d, &o.UserMS) }},
	{"sys_ms", func(d *jx.Decoder, o *rusageObject) error { return whole(d, &o.SysMS) }},
	{"max_rss_kib", func(d *jx.Decoder, o *rusageObject) error { return whole(d, &o.MaxRSS) }},
}

func rusage(d *jx.Decoder, into *rusageObject) error { return read(d, rusageFields[:], into) }

// streams reads the outputs by name. A null output is a surprise.
func streams(d *jx.Decoder, into *map[string]streamObject) error {
	if null(d) {
		return d.Null()
	}
	*into = map[string]streamObject{}
	return d.ObjBytes(func(d *jx.Decoder, name []byte) error {
		if _, twice := (*into)[string(name)]; twice || null(d) {
			return errSurprise
		}
		var one streamObject
		err := read(d, streamFields[:], &one)
		(*into)[string(name)] = one
		return err
	})
}

var streamFields = [...]field[streamObject]{
	{"bytes", func(d *jx.Decoder, o *streamObject) error { return whole(d, &o.Bytes) }},
	{"lines", func(d *jx.Decoder, o *streamObject) error { return fieldSet(d, &o.Lines, whole[int64]) }},
	{"lines_exact", func(d *jx.Decoder, o *streamObject) error { return optionalBool(d, &o.LinesExact) }},
	{"file", func(d *jx.Decoder, o *streamObject) error { return text(d, &o.File) }},
	{"elided", func(d *jx.Decoder, o *streamObject) error { return list(d, &o.Elided, rest) }},
}

func count(d *jx.Decoder, into *messages.Seq) error {
	n, err := d.UInt64()
	*into = messages.Seq(n)
	return err
}

// moment reads a time.
func moment(d *jx.Decoder, into *time.Time) error {
	b, err := d.Raw()
	if err != nil {
		return err
	}
	return into.UnmarshalJSON(b)
}
