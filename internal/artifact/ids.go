package artifact

import (
	"io/fs"
	"slices"
	"strconv"
)

// ids are the ids of the artifacts of some directories.
type ids []int64

func (s *ids) add(e fs.DirEntry) {
	m := logName.FindStringSubmatch(e.Name())
	if m == nil || !e.Type().IsRegular() {
		return
	}
	if id, err := strconv.ParseInt(m[1], 10, 64); err == nil {
		*s = append(*s, id)
	}
}

// sorted gives them in the order of numbers, each once.
func (s ids) sorted() []string {
	slices.Sort(s)
	var out []string
	for _, id := range slices.Compact(s) {
		out = append(out, strconv.FormatInt(id, 10))
	}
	return out
}
