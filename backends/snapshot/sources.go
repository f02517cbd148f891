package snapshot

import (
	"io"
	"os"

	"troupe/internal/shelltext"
)

// maxStart bounds the bytes of a start file that are searched for files that it sources.
const maxStart = 1 << 20

// sourcesOf returns the start file and the files of the user that it sources by name.
func sourcesOf(start string, env []string) []source {
	info, err := os.Stat(start)
	if err != nil {
		return []source{{start, nil}}
	}
	all := []source{{start, info}}
	if !info.Mode().IsRegular() {
		return all
	}
	f, err := os.Open(start)
	if err != nil {
		return all
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxStart)) // a part that cannot be read sources nothing
	for _, path := range shelltext.SourcedFiles(string(text), env) {
		info, _ := os.Stat(path)
		all = append(all, source{path, info})
	}
	return all
}

// unchanged reports whether a file is the same one, of the same size and time.
func (s source) unchanged() bool {
	info, err := os.Stat(s.path)
	if err != nil || s.info == nil {
		return err != nil && s.info == nil
	}
	return os.SameFile(info, s.info) && info.Size() == s.info.Size() && info.ModTime().Equal(s.info.ModTime())
}
