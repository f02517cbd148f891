package urls

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"troupe/internal/shelltext"
)

// Artifacts is the Router of artifact:// (R-045).
type Artifacts struct {
	Files shelltext.Files
	Dirs  []string // of the active sessions; the first with the id wins
}

// Scheme returns Artifact.
func (a Artifacts) Scheme() string { return Artifact }

// Resolve returns the file whose name begins with the id and a dot.
func (a Artifacts) Resolve(u URL, _ Use) (Resource, error) {
	switch {
	case u.Rest == "":
		return Resource{}, errors.New(causeNoID)
	case !decimal(u.Rest):
		return Resource{}, fmt.Errorf(causeNotNumeric, u.Rest)
	case len(a.Dirs) == 0:
		return Resource{}, errors.New(causeNoSession)
	}
	var there bool
	var ids []string
	for _, dir := range a.Dirs {
		entries, err := a.Files.ReadDir(dir)
		if err != nil {
			continue
		}
		there = true
		for _, entry := range entries {
			id, _, dotted := strings.Cut(entry.Name(), ".")
			if !dotted || !decimal(id) || !entry.Type().IsRegular() {
				continue
			}
			if id == u.Rest {
				return Resource{Path: path.Join(dir, entry.Name()), Type: "text/plain", Immutable: true}, nil
			}
			ids = append(ids, id)
		}
	}
	if !there {
		return Resource{}, errors.New(causeNoDirectory)
	}
	return Resource{}, fmt.Errorf(causeNoArtifact, u.Rest, oneOf(sorted(ids)))
}

func decimal(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// sorted sorts decimal numbers of any length and removes repeats.
func sorted(ids []string) []string {
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
	return slices.Compact(ids)
}
