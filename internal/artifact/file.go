package artifact

import (
	"os"
	"sync"
)

// File is a file that is being filled by one writer. It exists, empty, from its
// creation on, and no other File gets its name.
type File struct {
	ID   string // id in a Store; "" elsewhere
	Name string
	Path string // absolute path

	// Max bounds the file, in bytes; later bytes are counted and dropped. 0 means no
	// bound.
	Max int64

	remove func(name string) error
	out    *os.File
	once   sync.Once
	size   int64
}

// Write appends p. Bytes beyond Max count as written.
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
	return len(p), nil
}

// Size returns the bytes that the file holds.
func (f *File) Size() int64 { return f.size }

// Close closes the file and keeps it.
func (f *File) Close() error {
	var err error
	f.once.Do(func() { err = f.out.Close() })
	return err
}

// Discard closes and removes the file, so that an incomplete file is not taken for a
// complete one.
func (f *File) Discard() {
	_ = f.Close() // the content is not wanted
	_ = f.remove(f.Name)
}
