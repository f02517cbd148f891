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

// Tools that produce artifacts.
const (
	ToolBash         = "bash"
	ToolBashOriginal = "bash-original" // input of a minimiser
	ToolAsync        = "async"
)

// logName matches the file name of an artifact: <id>.<tool>.log.
var logName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d+)\..*\.log$`) })

// largestID bounds the ids that a new id is derived from.
const largestID = 1 << 53

// Store creates the artifacts of a session: files with decimal ids from 0 in one
// directory, created with the first artifact. Several sessions may share a store,
// several stores and processes a directory. No id is given twice, and files are never
// removed. A Store is safe for concurrent use.
type Store struct {
	dir string

	mu   sync.Mutex
	next int64 // no smaller id is free
}

// NewStore names the directory of a store by its absolute path and creates nothing.
func NewStore(dir string) *Store { return &Store{dir: dir} }

// Dir returns the directory of the store, which may not exist yet.
func (s *Store) Dir() string { return s.dir }

// Create creates the file of the next artifact. The caller may ignore an error and
// report the output without a file.
func (s *Store) Create(tool string) (*File, error) {
	if tool == "" || replace(tool, "_-") != tool {
		return nil, fmt.Errorf("invalid tool %q: %w", tool, ErrName)
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
	return nil, fmt.Errorf("%s: no artifact id is free", s.dir)
}

// open creates and opens the directory. Others may read it, since a host may have
// created it, but not write to it.
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
		return nil, fmt.Errorf("artifact directory %s: other users can write to it, or it is not this user's", s.dir)
	}
	return os.OpenRoot(s.dir)
}

// countOn makes next larger than every id in the directory.
func (s *Store) countOn(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if m := logName().FindStringSubmatch(e.Name()); m != nil {
			if id, err := strconv.ParseInt(m[1], 10, 64); err == nil && id < largestID {
				s.next = max(s.next, id+1)
			}
		}
	}
	return nil
}

// try takes the next id, or finds that another process has it. While this call holds
// .<id>.claim, no other store creates an artifact with that id. Reading the directory
// again finds an earlier one. A process that dies here leaves the id unused.
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

// Find returns the path of the artifact with this id.
func (s *Store) Find(id string) (string, error) { return Find(id, s.dir) }

// NotNumeric means that an id is not a number.
type NotNumeric struct{ ID string }

func (e *NotNumeric) Error() string {
	return fmt.Sprintf("invalid artifact id %q: use a number", e.ID)
}

// NotFound means that there is no artifact with ID. IDs are those that exist, sorted.
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

// Find returns the file whose name begins with "<id>." in the first directory that has
// one. It skips missing directories and returns ErrNoDirectory if all are
// missing.
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
