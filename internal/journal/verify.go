package journal

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"time"

	"go.etcd.io/bbolt"
)

// bbolt maps its file and trusts what it reads there: of a damaged one it
// panics, in a goroutine of its own, or it recurs until the process is ended. So
// the whole file is read before bbolt may write to it, bounds first: meta pages,
// the pages of every tree, the seal of every record, and what their tally says.

// Of bbolt's file format (its internal/common; unchanged since 2014).
const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	pageSize    = 4096 // of ours, whatever the system's is
	pageHeader  = 16   // id, flags, count, overflow
	pageElement = 16   // of a branch: pos, ksize, pgid; of a leaf: flags, pos, ksize, vsize
	metaSize    = 64
	bucketSize  = 16 // root, sequence; with root 0 a page follows in place

	branchPage = 1
	leafPage   = 2
	metaPage   = 4

	bucketLeaf = 1
	noFreelist = 1<<64 - 1
	maxDepth   = 32
)

// verify looks at a file that is not open yet, under a lock that it shares with
// other readers.
func verify(path string, timeout time.Duration) error {
	db, _, opening := openFile(path, readFlags, bbolt.Options{Timeout: timeout})
	if opening == nil {
		defer db.Close()
	} else if !errors.Is(opening, ErrDamaged) {
		return opening
	}
	f, err := openSafe(path, readFlags)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("the journal %s: %w", path, err)
	}
	if err := verifyFile(path, f, info.Size()); err != nil {
		return err
	}
	return opening // what the walk has not found
}

func verifyFile(path string, file io.ReaderAt, size int64) error {
	w := &verifier{file: file, size: size, seen: map[uint64]bool{}, meta: map[string][]byte{}}
	if known, err := w.metas(); err != nil {
		if !known {
			return foreign(path, "it does not begin as one")
		}
		return damaged(path, err)
	}
	walked := w.buckets()
	format, err := w.format()
	switch {
	case err == nil && format > Format: // which may lay it out otherwise
		return newer(path, format)
	case errors.Is(walked, errLayout):
		return foreign(path, walked.Error())
	}
	if err := cmp.Or(walked, err); err != nil {
		return damaged(path, err)
	}
	if err := w.compare(); err != nil {
		return damaged(path, err)
	}
	return nil
}

// verifier is one pass through a file.
type verifier struct {
	file io.ReaderAt
	size int64

	valid bool   // the rest is known
	root  uint64 // of the bucket of buckets
	list  uint64 // of free pages
	end   uint64 // the number of pages
	txid  uint64
	seen  map[uint64]bool

	found totals
	meta  map[string][]byte // the records of the meta bucket
}

// metas finds the newest of the two meta pages that is whole, as bbolt does.
// known says that it is a file of bbolt.
func (w *verifier) metas() (known bool, err error) {
	for at := int64(0); at <= pageSize; at += pageSize {
		head := make([]byte, pageHeader+metaSize)
		if _, err := w.file.ReadAt(head, at); err != nil && !errors.Is(err, io.EOF) {
			return true, err
		}
		known = known || binary.NativeEndian.Uint32(head[pageHeader:]) == boltMagic
		if err := w.oneMeta(head, uint64(at/pageSize)); err != nil {
			return true, err
		}
	}
	switch {
	case !w.valid:
		return known, errors.New("neither of its two beginnings is whole")
	case w.end > uint64(w.size/pageSize):
		return true, fmt.Errorf("it is cut off after %d bytes", w.size)
	}
	return true, nil
}

// oneMeta reads a meta page, and takes it if it is whole and newer. One that
// bbolt would take, and that it would not have written, is an error.
func (w *verifier) oneMeta(head []byte, page uint64) error {
	m := head[pageHeader:]
	word, long := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	sum := fnv.New64a()
	sum.Write(m[:56]) // it never fails
	if word(m) != boltMagic || word(m[4:]) != boltVersion || sum.Sum64() != long(m[56:]) {
		return nil
	}
	txid := long(m[48:])
	if word(m[8:]) != pageSize || long(head) != page || binary.NativeEndian.Uint16(head[8:]) != metaPage || txid%2 != page {
		return errors.New("one of its two beginnings is not ours")
	}
	if !w.valid || txid > w.txid {
		w.valid, w.root, w.list, w.end, w.txid = true, long(m[16:]), long(m[32:]), long(m[40:]), txid
	}
	return nil
}

// buckets walks the bucket of buckets, and each of them.
func (w *verifier) buckets() error {
	if w.list != noFreelist {
		return fmt.Errorf("%w: it has a list of free pages", errLayout)
	}
	there := map[string]bool{}
	err := w.tree(w.root, nil, nil, 0, func(kind uint32, name, value []byte) error {
		if kind != bucketLeaf || len(value) < bucketSize {
			return fmt.Errorf("%w: it holds %q", errLayout, name)
		}
		there[string(name)] = true
		each := func(kind uint32, key, value []byte) error { return w.record(string(name), kind, key, value) }
		if root := binary.NativeEndian.Uint64(value); root != 0 {
			return w.tree(root, nil, nil, 0, each)
		}
		return w.page(value[bucketSize:], nil, nil, 0, each)
	})
	if err != nil {
		return err
	}
	for _, name := range append(counted[:], metaBucket) {
		if !there[name] {
			return fmt.Errorf("%w: it has no %q", errLayout, name)
		}
	}
	return nil
}

var errLayout = errors.New("it is laid out otherwise")

// record takes one record of a bucket.
func (w *verifier) record(bucket string, kind uint32, key, value []byte) error {
	if kind != 0 {
		return fmt.Errorf("%w: there is a bucket in %q", errLayout, bucket)
	}
	body, err := unseal(bucket, key, value)
	if err != nil {
		return fmt.Errorf("%w (%s)", err, bucket)
	}
	if bucket == metaBucket {
		w.meta[string(key)] = bytes.Clone(body)
		return nil
	}
	w.found.count(key, value)
	return nil
}

// tree walks the page with the number id and those below it. Its keys are
// between low and high, if these are given.
func (w *verifier) tree(id uint64, low, high []byte, depth int, each func(uint32, []byte, []byte) error) error {
	if id < 2 || id >= w.end || depth > maxDepth {
		return fmt.Errorf("page %d is not in the file", id)
	}
	head := make([]byte, pageHeader)
	if _, err := w.file.ReadAt(head, int64(id)*pageSize); err != nil {
		return err
	}
	pages := uint64(binary.NativeEndian.Uint32(head[12:])) + 1
	if pages > w.end-id {
		return fmt.Errorf("page %d is too long", id)
	}
	for i := range pages {
		if w.seen[id+i] {
			return fmt.Errorf("page %d is there twice", id+i)
		}
		w.seen[id+i] = true
	}
	page := make([]byte, int64(pages)*pageSize)
	if _, err := w.file.ReadAt(page, int64(id)*pageSize); err != nil {
		return err
	}
	if binary.NativeEndian.Uint64(page) != id {
		return fmt.Errorf("page %d is another one", id)
	}
	return w.page(page, low, high, depth, each)
}

// page walks the elements of one page.
func (w *verifier) page(page, low, high []byte, depth int, each func(uint32, []byte, []byte) error) error {
	if len(page) < pageHeader {
		return errors.New("a page is cut off")
	}
	flags, count := binary.NativeEndian.Uint16(page[8:]), int(binary.NativeEndian.Uint16(page[10:]))
	branch := flags == branchPage
	if !branch && flags != leafPage || branch && count == 0 {
		return errors.New("a page is of another kind")
	}
	var keys, values [][]byte
	var words []uint64
	for i := range count {
		key, value, word, ok := element(page, i, count, branch)
		if !ok || len(key) == 0 {
			return errors.New("a page reaches beyond its end")
		}
		if i > 0 && bytes.Compare(keys[i-1], key) >= 0 || bytes.Compare(key, low) < 0 || high != nil && bytes.Compare(key, high) >= 0 {
			return errors.New("a page is out of order")
		}
		keys, values, words = append(keys, key), append(values, value), append(words, word)
	}
	for i, key := range keys {
		if !branch {
			if err := each(uint32(words[i]), key, values[i]); err != nil {
				return err
			}
			continue
		}
		next := high
		if i+1 < count {
			next = keys[i+1]
		}
		if err := w.tree(words[i], key, next, depth+1, each); err != nil {
			return err
		}
	}
	return nil
}

// element gives an element of a page: key and value, and the number of the page
// below it or, in a leaf, its flags.
func element(page []byte, i, count int, branch bool) (key, value []byte, word uint64, ok bool) {
	at := uint64(pageHeader + i*pageElement)
	if uint64(pageHeader+count*pageElement) > uint64(len(page)) {
		return nil, nil, 0, false
	}
	e := page[at:]
	long := func(off int) uint64 { return uint64(binary.NativeEndian.Uint32(e[off:])) }
	var pos, ksize, vsize uint64
	if branch {
		pos, ksize, word = long(0), long(4), binary.NativeEndian.Uint64(e[8:])
	} else {
		word, pos, ksize, vsize = long(0), long(4), long(8), long(12)
	}
	if at+pos < uint64(pageHeader+count*pageElement) || at+pos+ksize+vsize > uint64(len(page)) {
		return nil, nil, 0, false
	}
	return e[pos : pos+ksize], e[pos+ksize : pos+ksize+vsize], word, true
}

func (w *verifier) format() (format uint64, err error) {
	f := fields{buf: w.meta[string(formatKey)]}
	uvarintField(&f, 1, &format)
	if format == 0 && f.err == nil {
		f.fail("it has no format")
	}
	return format, f.err
}

// compare holds what was found against what was written.
func (w *verifier) compare() error {
	var recorded totals
	if err := decode(w.meta[string(totalsKey)], &recorded, totalsFields); err != nil {
		return err
	}
	if recorded.records != w.found.records || recorded.bytes != w.found.bytes || recorded.sum != w.found.sum {
		return fmt.Errorf("%d records of %d bytes are there, %d of %d were written, or they are not the same", w.found.records, w.found.bytes, recorded.records, recorded.bytes)
	}
	return nil
}
