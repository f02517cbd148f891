package console

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"troupe/internal/cli/config"
	"troupe/internal/shelltext"
)

// Limits of completion.
const (
	mostWords  = 200
	mostInPath = 20_000 // directory entries that one completion reads
)

// lead returns a command up to its last word.
func lead(command string) string {
	return command[:strings.LastIndexAny(command, " \t\n;|&(<>")+1]
}

// beginsCommand reports whether a word after a text is the name of a program.
func beginsCommand(before string) bool {
	before = strings.TrimRight(before, " \t")
	return before == "" || strings.ContainsAny(before[len(before)-1:], ";|&(\n")
}

// complete returns the words that complete the last word of a command: programs in the PATH at
// its beginning, files elsewhere.
func complete(command, dir string, env []string) []string {
	before := lead(command)
	word := command[len(before):]
	switch {
	case word == "" && beginsCommand(before):
		return nil
	case beginsCommand(before) && !strings.Contains(word, "/"):
		return programs(word, shelltext.Value(env, "PATH"))
	}
	return files(word, dir, shelltext.Value(env, "HOME"))
}

// programs returns the programs in a PATH whose names begin with a word.
func programs(word, path string) []string {
	var found []string
	read := 0
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || read > mostInPath {
			continue
		}
		entries, _ := os.ReadDir(dir) // a missing directory has no programs
		read += len(entries)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), word) && printable(e.Name()) && config.Executable(filepath.Join(dir, e.Name())) {
				found = append(found, e.Name()+" ")
			}
		}
	}
	return sorted(found)
}

// files returns the files whose paths begin with a word. Directories end with a slash. Names that
// a shell would read otherwise are left out.
func files(word, dir, home string) []string {
	shown, name := word[:strings.LastIndexByte(word, '/')+1], word[strings.LastIndexByte(word, '/')+1:]
	in := shown
	if rest, ok := strings.CutPrefix(shown, "~/"); ok && home != "" {
		in = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(in) {
		in = filepath.Join(dir, in)
	}
	entries, _ := os.ReadDir(in) // a missing directory has no files
	var found []string
	for _, e := range entries[:min(len(entries), mostInPath)] {
		if !strings.HasPrefix(e.Name(), name) || !printable(e.Name()) || strings.HasPrefix(e.Name(), ".") && name == "" {
			continue
		}
		end := " "
		if info, err := os.Stat(filepath.Join(in, e.Name())); err == nil && info.IsDir() {
			end = "/"
		}
		found = append(found, shown+e.Name()+end)
	}
	return sorted(found)
}

// printable reports whether a name is a word of a shell without quotes.
func printable(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == '\ufffd' || strings.ContainsRune("'\"\\$`&;|<>()*?[]{}!#~", r)
	})
}

func sorted(words []string) []string {
	slices.Sort(words)
	words = slices.Compact(words)
	return words[:min(len(words), mostWords)]
}

// commonStart returns what all words begin with.
func commonStart(words []string) string {
	common := words[0]
	for _, w := range words[1:] {
		for !strings.HasPrefix(w, common) {
			common = common[:len(common)-1]
		}
	}
	return strings.ToValidUTF8(common, "")
}

// listed lists words in one row of a width.
func listed(words []string, width int) string {
	trimmed := make([]string, len(words))
	for i, w := range words {
		trimmed[i] = strings.TrimSpace(w)
	}
	return ansi.Truncate(strings.Join(trimmed, "  "), width, "…")
}
