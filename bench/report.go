package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"time"
)

// sense says which direction of a figure is better.
type sense string

const (
	atMost  sense = "≤"
	atLeast sense = "≥"
)

// meets reports whether a figure reaches a target.
func (s sense) meets(figure, target float64) bool {
	if s == atLeast {
		return figure >= target
	}
	return figure <= target
}

// Verdicts of a row.
const (
	ok      = "ok"
	short   = "short"
	skipped = "skip" // the machine lacks what the scenario needs
	none    = "-"    // no target
)

// row is one line of the report.
type row struct {
	Name    string    `json:"name"`
	Metric  string    `json:"metric"`
	Ours    *float64  `json:"ours"`  // median of the rounds; null: not measured
	Raw     *float64  `json:"raw"`   // null also without a raw side
	Ratio   *float64  `json:"ratio"` // median of the rounds' ratios; null: not judged by ratio
	Added   *float64  `json:"added"` // median of the rounds' differences; null: not judged by difference
	Sense   sense     `json:"sense"`
	Must    float64   `json:"must"`
	Aim     float64   `json:"aim"`
	Verdict string    `json:"verdict"` // for Must
	Error   string    `json:"error,omitempty"`
	OursAll []float64 `json:"ours_rounds"`
	RawAll  []float64 `json:"raw_rounds"`
}

// newRow compares the figures of a line with its targets.
func newRow(scenario string, l line, ours, raw []float64) row {
	r := row{
		Name: scenario + l.suffix, Metric: l.metric, Sense: l.better, Must: l.must, Aim: l.aim,
		Ours: known(median(ours)), Raw: known(median(raw)), OursAll: ours, RawAll: raw, Verdict: short,
	}
	reached := r.Ours
	switch l.what {
	case byRatio:
		r.Ratio = known(pairRatio(ours, raw))
		reached = r.Ratio
	case added:
		r.Added = known(pairDifference(ours, raw))
		reached = r.Added
	case shown:
		r.Ratio, r.Verdict = known(pairRatio(ours, raw)), none
		return r
	case itself:
	}
	if reached != nil && l.better.meets(*reached, l.must) {
		r.Verdict = ok
	}
	return r
}

// known returns a figure that JSON can hold, otherwise nil.
func known(figure float64) *float64 {
	if math.IsNaN(figure) || math.IsInf(figure, 0) {
		return nil
	}
	return &figure
}

// rowFormat has fixed widths, since rows are printed one by one: the longest name and
// metric, and six digits.
const rowFormat = "%-17s %-14s %9s %9s %7s %7s %7s  %s\n"

func printHead(w io.Writer) {
	fmt.Fprintf(w, rowFormat, "NAME", "metric", "ours", "raw", "ratio", "must", "aim", "verdict")
}

func printRow(w io.Writer, r row) {
	must, aim := string(r.Sense)+target(r.Must), string(r.Sense)+target(r.Aim)
	if r.Verdict == none {
		must, aim = none, none
	}
	fmt.Fprintf(w, rowFormat, r.Name, r.Metric, figure(r.Ours), figure(r.Raw), r.compared(), must, aim, r.Verdict)
}

// figure formats about four digits; more would be noise.
func figure(f *float64) string {
	switch {
	case f == nil:
		return "-"
	case *f == math.Trunc(*f) || math.Abs(*f) >= 1000:
		return strconv.FormatFloat(*f, 'f', 0, 64)
	case math.Abs(*f) >= 100:
		return strconv.FormatFloat(*f, 'f', 1, 64)
	case math.Abs(*f) >= 10:
		return strconv.FormatFloat(*f, 'f', 2, 64)
	}
	return strconv.FormatFloat(*f, 'f', 3, 64)
}

// compared formats ours beside raw: a ratio, or a difference with its
// sign.
func (r row) compared() string {
	switch {
	case r.Added != nil:
		return fmt.Sprintf("%+.0f", *r.Added)
	case r.Ratio != nil:
		return strconv.FormatFloat(*r.Ratio, 'f', 3, 64)
	}
	return "-"
}

func target(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// report is the JSON form of a run.
type report struct {
	V       int       `json:"v"`
	Started time.Time `json:"started"`
	Took    float64   `json:"took_s"`
	Rounds  int       `json:"rounds"`
	Machine machine   `json:"machine"`
	Rows    []row     `json:"rows"`
}

type machine struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Kernel string `json:"kernel"`
	CPUs   int    `json:"cpus"`
	Go     string `json:"go"`
}

func thisMachine() machine {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // empty if missing
	return machine{runtime.GOOS, runtime.GOARCH, firstLine(kernel), runtime.NumCPU(), runtime.Version()}
}

func firstLine(text []byte) string {
	for i, c := range text {
		if c == '\n' {
			return string(text[:i])
		}
	}
	return string(text)
}

// write writes the report to a file.
func (r report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
