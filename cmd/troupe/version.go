package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"troupe/messages"
)

// versionObject is what version --json prints.
type versionObject struct {
	V       int    `json:"v"`
	Version string `json:"version"`
	Commit  string `json:"commit"` // "" when it was not built from a checkout
	Dirty   bool   `json:"dirty"`  // and not from that commit alone
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func versionCommand(m *Main) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Say which troupe this is", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return writeJSON(m.Out, m.describe())
			}
			return printVersion(m)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one object")
	return cmd
}

func printVersion(m *Main) error {
	v := m.describe()
	_, err := fmt.Fprintf(m.Out, "troupe %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
	return err
}

// describe reads what the linker and the go command left in the binary.
func (m *Main) describe() versionObject {
	v := versionObject{V: messages.JSONVersion, Version: m.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
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
