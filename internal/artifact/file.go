package artifact

import (
	"os"
	"sync"
)

// File is a file that is being filled. It is there, empty, from the moment it was
// made, under a name that nobody else gets. One writer at a time.
type File struct {
	ID   string // in a Store, "" elsewhere
	Name string
	Path string // absolute

	// Max is how many bytes the file takes; what follows is counted and dropped.
	// 0: no bound.
	Max int64

	remove func(name string) error
	out    *os.File
	once   sync.Once
	size   int64
	lost   int64
}

// Write adds p. Bytes beyond Max count as written.
func (f *File) Write(p []byte) (int, error) {
	keep := p
	if f.Max > 0 {
		keep = p[:min(int64(len(p)), max(0, f.Max-f.size))]
	}
	n, err := f.out.Write(keep)
	f.size += int64(n)
	if err != nil {
		return n, err
	}
	f.lost += int64(len(p) - len(keep))
	return len(p), nil
}

// Size is how many bytes the file holds.
func (f *File) Size() int64 { return f.size }

// Lost is how many bytes did not go in because of Max.
func (f *File) Lost() int64 { return f.lost }

// Close says that no byte follows. The file stays.
func (f *File) Close() error {
	var err error
	f.once.Do(func() { err = f.out.Close() })
	return err
}

// Discard closes the file and removes it: what could not be written whole is not
// left behind for somebody to take for the whole.
func (f *File) Discard() {
	_ = f.Close() // what is in it is not wanted
	_ = f.remove(f.Name)
}
