package pipe

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// DefaultShell runs the texts that name no shell.
const DefaultShell = "bash"

// known are the shells that need no configuration: their words before a text.
// None of them reads a file that a user wrote for interactive shells.
func known() map[string][]string {
	return map[string][]string{
		"bash": {"bash", "--norc", "--noprofile", textFlag},
		"sh":   {"sh", textFlag},
		"dash": {"dash", textFlag},
		"zsh":  {"zsh", "-f", textFlag},
		"fish": {"fish", "--no-config", textFlag},
	}
}

// textFlag says to a shell that its next word is the text.
const textFlag = "-c"

// before gives the words before a text. One that begins as an option is none to the shells
// that take their text behind all options; what fish and others have behind -c is the text.
func before(words []string, text string) []string {
	if !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "+") || words[len(words)-1] != textFlag {
		return words
	}
	switch filepath.Base(words[0]) {
	case "bash", "sh", "dash", "zsh":
		return append(words, "--")
	}
	return words
}

// usual are the directories in which a shell is looked for when the job's PATH
// has none, as in an empty environment.
func usual() []string {
	return []string{"/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"}
}

// shellTable knows how to run a text.
type shellTable struct {
	words map[string][]string // by name; only read

	mu    *sync.Mutex
	found map[lookupKey]lookupResult // what was looked up
}

// lookupKey is a program, and the PATH that it is looked for in.
type lookupKey struct{ program, path string }

// lookupResult is where a program was found: its name for Argv[0], and its file, "" if
// that is the name.
type lookupResult struct{ name, file string }

// maxFound bounds what is kept: of some PATHs more than any host has.
const maxFound = 256

func newShells(more map[string][]string) shellTable {
	words := known()
	maps.Copy(words, more)
	return shellTable{words: words, mu: &sync.Mutex{}, found: map[lookupKey]lookupResult{}}
}

// resolve gives the words before a text for a shell, a name or the absolute
// path of a program with such a name, and the shell's file, if it is known.
func (s shellTable) resolve(shell string, env []string) (words []string, file string, err *messages.Error) {
	shell = cmp.Or(shell, DefaultShell)
	words, program := s.wordsOf(shell)
	if len(words) == 0 {
		return nil, "", &messages.Error{
			Code: messages.InvalidParams, Reason: "invalid_shell", Message: fmt.Sprintf("%q is no shell", shell),
			Hint: "use one of " + strings.Join(slices.Sorted(maps.Keys(s.words)), ", ") + ", or the absolute path of one",
		}
	}
	at := s.look(program, env)
	if at.name == "" {
		return nil, "", &messages.Error{
			Code: messages.SpawnFailed, Reason: "ENOENT", Message: fmt.Sprintf("the shell %s is not installed on this machine", program),
			Hint: fmt.Sprintf("install the package %s, or use another shell", filepath.Base(program)),
		}
	}
	return append([]string{at.name}, words[1:]...), at.file, nil
}

// wordsOf are the words before a text for a shell, none if it is no shell, and its
// program.
func (s shellTable) wordsOf(shell string) (words []string, program string) {
	if words = s.words[shell]; len(words) > 0 {
		return words, words[0]
	}
	if filepath.IsAbs(shell) {
		return s.words[filepath.Base(shell)], shell
	}
	return nil, ""
}

// knows reports whether resolve would find the shell without looking at any
// directory.
func (s shellTable) knows(shell string, env []string) bool {
	_, program := s.wordsOf(cmp.Or(shell, DefaultShell))
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found[lookupKey{program, pathOf(env)}].name != ""
}

// look finds a program; it has no name if it is not there. One that is in the
// PATH of env keeps its name, so that its messages begin with that.
func (s shellTable) look(program string, env []string) lookupResult {
	if strings.ContainsRune(program, '/') {
		if executable(program) {
			return lookupResult{name: program}
		}
		return lookupResult{}
	}
	w := lookupKey{program, pathOf(env)}
	s.mu.Lock()
	at := s.found[w]
	s.mu.Unlock()
	if at.name != "" {
		return at
	}
	if at = search(program, w.path); at.name == "" {
		return at
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.found) >= maxFound {
		clear(s.found)
	}
	s.found[w] = at
	return at
}

func search(program, path string) lookupResult {
	for _, dir := range filepath.SplitList(path) {
		if file := filepath.Join(dir, program); filepath.IsAbs(dir) && executable(file) {
			return lookupResult{program, file}
		}
	}
	for _, dir := range usual() {
		if file := filepath.Join(dir, program); executable(file) {
			return lookupResult{file, ""}
		}
	}
	return lookupResult{}
}

func pathOf(env []string) string {
	for _, entry := range slices.Backward(env) {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			return path
		}
	}
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS) == nil
}
