package cli

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"troupe/messages"
)

// Build is the object that version --json prints.
type Build struct {
	V       int    `json:"v"`
	Version string `json:"version"`
	Commit  string `json:"commit"` // "" if not built from a checkout
	Dirty   bool   `json:"dirty"`  // whether the checkout had uncommitted changes
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// Describe returns what the linker and the go command recorded in the binary.
func (m *Main) Describe() Build {
	v := Build{V: messages.JSONVersion, Version: m.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		v.Version = cmp.Or(v.Version, "unknown")
		return v
	}
	v.Version = cmp.Or(v.Version, info.Main.Version, "unknown")
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Dirty = s.Value == "true"
		}
	}
	return v
}
