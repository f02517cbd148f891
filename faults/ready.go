package faults

import (
	"embed"
	"path"
	"slices"
	"strings"

	"troupe/messages"
)

//go:embed ready/*.toml
var ready embed.FS

// Ready lists the names of the plans that come with the program, sorted.
func Ready() (names []string) {
	files, _ := ready.ReadDir("ready") // of the program itself
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".toml"))
	}
	slices.Sort(names)
	return names
}

// ReadyText returns the text of such a plan, as TOML; the error has the code not_found.
func ReadyText(name string) ([]byte, error) {
	text, err := ready.ReadFile(path.Join("ready", name+".toml"))
	if err != nil {
		return nil, &messages.Error{
			Code: messages.NotFound, Reason: "plan", Message: "there is no ready plan " + name, Hint: "troupe chaos --list shows them",
		}
	}
	return text, nil
}
