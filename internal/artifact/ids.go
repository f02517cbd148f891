package artifact

import (
	"io/fs"
	"slices"
	"strconv"
)

// ids collects the ids of the artifacts in some directories.
type ids []int64

func (s *ids) add(e fs.DirEntry) {
	m := logName().FindStringSubmatch(e.Name())
	if m == nil || !e.Type().IsRegular() {
		return
	}
	if id, err := strconv.ParseInt(m[1], 10, 64); err == nil {
		*s = append(*s, id)
	}
}

// sorted returns the ids in numeric order without repeats.
func (s ids) sorted() []string {
	slices.Sort(s)
	var out []string
	for _, id := range slices.Compact(s) {
		out = append(out, strconv.FormatInt(id, 10))
	}
	return out
}
