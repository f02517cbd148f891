package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// The tools that artifacts are of.
const (
	ToolBash         = "bash"
	ToolBashOriginal = "bash-original" // what a minimiser was given
	ToolAsync        = "async"
)

// logName is what the file of an artifact is called: <id>.<tool>.log.
var logName = regexp.MustCompile(`^(\d+)\..*\.log$`)

// largestID bounds the ids that are counted on from.
const largestID = 1 << 53

// Store makes the artifacts of a session: files with ids, decimal from 0, in one
// directory, which is made with the first of them. Several sessions may share a
// store, several stores and processes a directory: an id is given once. What is in
// it stays. A Store is safe for concurrent use.
type Store struct {
	dir string

	mu   sync.Mutex
	next int64 // no smaller id is free
}

// NewStore names the directory of a store, by its absolute path; nothing is made.
func NewStore(dir string) *Store { return &Store{dir: dir} }

// StoreDir is where the artifacts of a session are whose transcript a host keeps in a
// file: its path without .jsonl.
func StoreDir(sessionFile string) string { return strings.TrimSuffix(sessionFile, ".jsonl") }

// Dir is the directory of the store, which may not be there yet.
func (s *Store) Dir() string { return s.dir }

// Create makes the file of the next artifact. An error is one that the caller may
// ignore: the output is then told without a file.
func (s *Store) Create(tool string) (*File, error) {
	if tool == "" || replace(tool, "_-") != tool {
		return nil, fmt.Errorf("%q is no type of a tool: %w", tool, ErrName)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	root, err := s.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := s.countOn(root); err != nil {
		return nil, err
	}
	for range 10_000 {
		f, err := s.try(root, tool)
		if f != nil || err != nil {
			return f, err
		}
	}
	return nil, fmt.Errorf("no id is free in %s", s.dir)
}

// open opens the directory, and makes it. It may be readable for others, since a host
// may have made it, but not theirs to write to.
func (s *Store) open() (*os.Root, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Lstat(s.dir)
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("the directory of artifacts %s is not this user's alone to write to", s.dir)
	}
	return os.OpenRoot(s.dir)
}

// countOn makes next larger than each id that is there.
func (s *Store) countOn(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if m := logName.FindStringSubmatch(e.Name()); m != nil {
			if id, err := strconv.ParseInt(m[1], 10, 64); err == nil && id < largestID {
				s.next = max(s.next, id+1)
			}
		}
	}
	return nil
}

// try takes the next id, or finds that another process has it. While the file
// .<id>.claim is ours, nobody else makes an artifact of that id; whoever made one
// before is seen by looking again. A process that dies here costs the id.
func (s *Store) try(root *os.Root, tool string) (*File, error) {
	number := s.next
	id := strconv.FormatInt(number, 10)
	claim := "." + id + ".claim"
	held, err := root.OpenFile(claim, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		s.next++
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	held.Close()
	defer root.Remove(claim)
	if err := s.countOn(root); err != nil || s.next > number {
		return nil, err
	}
	f, err := create(root, s.dir, id+"."+tool+".log")
	if err != nil {
		return nil, err
	}
	f.ID = id
	s.next++
	return f, nil
}

// Find is where the artifact of an id is.
func (s *Store) Find(id string) (string, error) { return Find(id, s.dir) }

// NotNumeric says that an id is none.
type NotNumeric struct{ ID string }

func (e *NotNumeric) Error() string {
	return fmt.Sprintf("the id of an artifact is a number, this is %q", e.ID)
}

// NotFound says that there is no artifact of an id, and which there are, sorted.
type NotFound struct {
	ID  string
	IDs []string
}

func (e *NotFound) Error() string {
	there := "there are none"
	if len(e.IDs) > 0 {
		there = "there are " + strings.Join(e.IDs, ", ")
	}
	return fmt.Sprintf("there is no artifact %s; %s", e.ID, there)
}

// Find is where the artifact of an id is: the file whose name begins with "<id>." in
// the first of the directories that has one. Directories that are not there
// are passed over; if none is there it is ErrNoDirectory.
func Find(id string, dirs ...string) (string, error) {
	if id == "" {
		return "", ErrNoID
	}
	if strings.Trim(id, "0123456789") != "" {
		return "", &NotNumeric{ID: id}
	}
	var seen ids
	there := false
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		there = true
		for _, e := range entries { // sorted by name
			if e.Type().IsRegular() && strings.HasPrefix(e.Name(), id+".") {
				return filepath.Join(dir, e.Name()), nil
			}
			seen.add(e)
		}
	}
	if !there {
		return "", ErrNoDirectory
	}
	return "", &NotFound{ID: id, IDs: seen.sorted()}
}
