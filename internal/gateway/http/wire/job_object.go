package wire

import (
	"time"

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
	jobObject `json:",embed"`
	Text      *string `json:"text"`
	Truncated bool    `json:"truncated"`
}
