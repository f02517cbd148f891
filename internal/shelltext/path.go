package shelltext

import (
	"path"
	"strings"
)

// SnapshotPath returns the PATH that a snapshot sets, "" if it sets none.
func SnapshotPath(snapshot string) string {
	const set = "\nexport PATH="
	at := strings.LastIndex(snapshot, set)
	if at < 0 {
		return ""
	}
	value, _, ok := unquote(snapshot[at+len(set):])
	if !ok {
		return ""
	}
	return value
}

// AppendPath returns the PATH own with the directories of more that it lacks after it. It
// leaves out relative ones, which mean another directory in each job.
func AppendPath(own, more string) string {
	have := map[string]bool{}
	for dir := range strings.SplitSeq(own, ":") {
		have[path.Clean(dir)] = true
	}
	all := own
	for dir := range strings.SplitSeq(more, ":") {
		if !path.IsAbs(dir) || have[path.Clean(dir)] {
			continue
		}
		have[path.Clean(dir)] = true
		if all != "" {
			all += ":"
		}
		all += dir
	}
	return all
}
