package omp

// Details holds the structured part of a result of bash.
type Details struct {
	TimeoutSeconds          float64  `json:"timeoutSeconds,omitempty"`
	RequestedTimeoutSeconds *float64 `json:"requestedTimeoutSeconds,omitempty"` // only if it differs
	TimeoutDisabled         bool     `json:"timeoutDisabled,omitempty"`
	TimedOut                bool     `json:"timedOut,omitempty"`
	WallTimeMs              *int64   `json:"wallTimeMs,omitempty"`
	TerminalID              string   `json:"terminalId,omitempty"`
	ExitCode                *int     `json:"exitCode,omitempty"` // only if it is not 0
	SuggestedTool           string   `json:"suggestedTool,omitempty"`
	Async                   *Async   `json:"async,omitempty"`
	Meta                    *Meta    `json:"meta,omitempty"`
}

// Async is the state of a background job.
type Async struct {
	State string `json:"state"` // running, completed, failed
	JobID string `json:"jobId"`
	Type  string `json:"type"`
}

// Meta describes the text of a result.
type Meta struct {
	Truncation *Truncation `json:"truncation,omitempty"`
}

// Truncation says which part of an output is shown.
type Truncation struct {
	Direction   string `json:"direction"` // tail or head
	TruncatedBy string `json:"truncatedBy"`
	TotalLines  int64  `json:"totalLines"`
	TotalBytes  int64  `json:"totalBytes"`
	OutputLines int64  `json:"outputLines"`
	OutputBytes int64  `json:"outputBytes"`
	MaxBytes    int64  `json:"maxBytes,omitempty"`
	ShownRange  Range  `json:"shownRange"`
	ArtifactID  string `json:"artifactId,omitempty"`
	NextOffset  int64  `json:"nextOffset,omitempty"` // head direction only
}

// Range is a range of lines, counted from 1, both ends included. In an empty range End is
// below Start.
type Range struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// Captured is the shown part of an output, with the figures of the whole.
type Captured struct {
	Text        string
	Truncated   bool
	Limited     bool // by a limit on lines that the request gave; all of them are shown
	TotalLines  int64
	TotalBytes  int64
	OutputLines int64
	OutputBytes int64
	ArtifactID  string // of the whole output
	Path        string // of the file of that artifact
	RawID       string // of the minimizer's input
	Minimized   bool
}

// window bounds the shown part of an output, in bytes.
const window = 50 << 10

// truncation describes a text that was cut, nil for a whole one.
func (c Captured) truncation() *Truncation {
	if !c.Truncated {
		return nil
	}
	t := &Truncation{
		Direction: "tail", TruncatedBy: "bytes", TotalLines: c.TotalLines, TotalBytes: c.TotalBytes, OutputLines: c.OutputLines, OutputBytes: c.OutputBytes,
		ShownRange: Range{Start: c.TotalLines - c.OutputLines + 1, End: c.TotalLines}, ArtifactID: c.ArtifactID,
	}
	if c.Limited || c.OutputBytes >= c.TotalBytes && c.OutputLines < c.TotalLines {
		t.TruncatedBy = "lines"
	}
	if t.TruncatedBy == "bytes" {
		t.MaxBytes = window
	}
	return t
}

// BashResult is the result of one command for front ends that render it themselves.
type BashResult struct {
	Output         string `json:"output"`
	ExitCode       *int   `json:"exitCode,omitempty"` // nil if the command was cancelled or timed out
	Cancelled      bool   `json:"cancelled"`
	TimedOut       bool   `json:"timedOut,omitempty"`
	Truncated      bool   `json:"truncated"`
	TotalLines     int64  `json:"totalLines"`
	TotalBytes     int64  `json:"totalBytes"`
	OutputLines    int64  `json:"outputLines"`
	OutputBytes    int64  `json:"outputBytes"`
	ArtifactID     string `json:"artifactId,omitempty"`
	FullOutputPath string `json:"fullOutputPath,omitempty"` // file with the whole output of a truncated one; it goes with its session
}
