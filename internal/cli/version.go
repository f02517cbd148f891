package cli

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"troupe/messages"
)

// Build is the object that version --json prints.
type Build struct {
	V       int    `json:"v"`
	Version string `json:"version"`
	Commit  string `json:"commit"` // "" if not built from a checkout
	Date    string `json:"date"`   // of the commit, RFC 3339 in UTC; "" if there is none
	Dirty   bool   `json:"dirty"`  // whether the checkout had uncommitted changes
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// Linked is what the linker has set in a binary: see the Makefile.
type Linked struct{ Version, Commit, Date string }

// Describe returns what the linker and the go command recorded in the binary.
func (m *Main) Describe() Build {
	v := Build{
		V: messages.JSONVersion, Version: m.Linked.Version, Commit: m.Linked.Commit, Date: m.Linked.Date,
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.record(info)
	}
	v.Version = cmp.Or(v.Version, "unknown")
	return v
}

// record adds what the go command has recorded of the checkout or of the module.
func (v *Build) record(info *debug.BuildInfo) {
	v.Version = cmp.Or(v.Version, info.Main.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = cmp.Or(v.Commit, s.Value)
		case "vcs.time":
			v.Date = cmp.Or(v.Date, s.Value)
		case "vcs.modified":
			v.Dirty = s.Value == "true"
		}
	}
	if v.Commit == "" {
		v.pseudo(info.Main.Version)
	}
}

// stamp is the form of the time in a pseudo-version.
const stamp = "20060102150405"

// pseudo adds the commit and the date of a pseudo-version, which the go command gives a commit
// without a tag: v0.0.0-20060102150405-0123456789ab.
func (v *Build) pseudo(version string) {
	version, _, _ = strings.Cut(version, "+")
	i := strings.LastIndexByte(version, '-')
	if i < len(stamp) || len(version)-i-1 != 12 {
		return
	}
	if at, err := time.Parse(stamp, version[i-len(stamp):i]); err == nil {
		v.Commit, v.Date = version[i+1:], at.Format(time.RFC3339)
	}
}
