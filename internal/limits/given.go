package limits

import "encoding/json"

// Given holds the limits and the oom_score_adj that a process was started with, and may have
// changed for itself. Jobs start with them. The daemon passes it to its keepers, as the value of a flag.
type Given struct {
	Soft map[int]uint64 `json:"soft,omitempty"` // soft limits, by resource
	OOM  *int           `json:"oom,omitempty"`  // oom_score_adj; nil: unknown

	changed bool // the process has others now
}

// String returns the value of the flag; "": nothing was raised.
func (g *Given) String() string {
	if !g.changed {
		return ""
	}
	text, _ := json.Marshal(g) // such a map has no invalid value
	return string(text)
}

// Set implements the value of a flag.
func (g *Given) Set(text string) error { return json.Unmarshal([]byte(text), g) }

// Type implements the value of a flag.
func (*Given) Type() string { return "limits" }
