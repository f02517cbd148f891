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

// DefaultShell runs texts that name no shell.
const DefaultShell = "bash"

// known returns the shells that need no configuration: by name, program and arguments before a
// text. None of them reads a user's file for interactive shells.
func known() map[string][]string {
	return map[string][]string{
		"bash": {"bash", "--norc", "--noprofile", textFlag},
		"sh":   {"sh", textFlag},
		"dash": {"dash", textFlag},
		"zsh":  {"zsh", "-f", textFlag},
		"fish": {"fish", "--no-config", textFlag},
	}
}

// textFlag makes a shell take its next argument as the text.
const textFlag = "-c"

// before returns the words before a text. A text that begins like an option needs a "--" in
// shells that take the text after all options. For fish and others the argument after -c is
// the text.
func before(words []string, text string) []string {
	if !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "+") || words[len(words)-1] != textFlag {
		return words
	}
	if isPOSIX(words) {
		return append(words, "--")
	}
	return words
}

// isPOSIX reports whether these words start a shell of the POSIX family.
func isPOSIX(words []string) bool {
	return slices.Contains([]string{"bash", "sh", "dash", "zsh"}, filepath.Base(words[0]))
}

// usual returns the directories in which a shell is looked for when the job's PATH has none,
// as in an empty environment.
func usual() []string {
	return []string{"/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"}
}

// shellTable finds shells and the words that make them run a text.
type shellTable struct {
	words map[string][]string // by name; read-only

	mu    *sync.Mutex
	found map[lookupKey]lookupResult // cache of lookups
}

// lookupKey is a program and the PATH in which it is looked up.
type lookupKey struct{ program, path string }

// lookupResult is a program's name for Argv[0], and its file; "": the name is the file.
type lookupResult struct{ name, file string }

// maxFound bounds the cache of lookups, far above the PATHs of any host.
const maxFound = 256

func newShells(more map[string][]string) shellTable {
	words := known()
	maps.Copy(words, more)
	return shellTable{words: words, mu: &sync.Mutex{}, found: map[lookupKey]lookupResult{}}
}

// resolve returns the words before a text for a shell, and the shell's file if known. shell is
// a name, or the absolute path of a program with such a name.
func (s shellTable) resolve(shell string, env []string) (words []string, file string, err *messages.Error) {
	shell = cmp.Or(shell, DefaultShell)
	words, program := s.wordsOf(shell)
	if len(words) == 0 {
		return nil, "", &messages.Error{
			Code: messages.InvalidParams, Reason: "invalid_shell", Message: fmt.Sprintf("invalid shell %q", shell),
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

// wordsOf returns the words before a text for a shell, and its program; none for an unknown
// shell.
func (s shellTable) wordsOf(shell string) (words []string, program string) {
	if words = s.words[shell]; len(words) > 0 {
		return words, words[0]
	}
	if filepath.IsAbs(shell) {
		return s.words[filepath.Base(shell)], shell
	}
	return nil, ""
}

// knows reports whether resolve would find the shell without reading a directory.
func (s shellTable) knows(shell string, env []string) bool {
	_, program := s.wordsOf(cmp.Or(shell, DefaultShell))
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found[lookupKey{program, pathOf(env)}].name != ""
}

// look finds a program; the zero value means not found. A program in the PATH of env keeps its
// name, so that its messages begin with the name.
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
