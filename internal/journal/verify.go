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

// bbolt maps its file and trusts it. On a damaged file it panics in its own goroutine,
// or recurses until the process dies. So the whole file is read, with bounds checks,
// before bbolt may write to it: meta pages, the pages of every tree, the seal of every
// record, and the totals.

// bbolt's file format (its internal/common; unchanged since 2014).
const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	pageSize    = 4096 // of journals, independent of the system's
	pageHeader  = 16   // id, flags, count, overflow
	pageElement = 16   // branch: pos, ksize, pgid; leaf: flags, pos, ksize, vsize
	metaSize    = 64
	bucketSize  = 16 // root, sequence; with root 0 a page follows in place

	branchPage = 1
	leafPage   = 2
	metaPage   = 4

	bucketLeaf = 1
	noFreelist = 1<<64 - 1
	maxDepth   = 32
)

// verify checks a file that is not open yet, under a shared lock, and returns its format.
func verify(path string, timeout time.Duration) (format uint64, err error) {
	db, _, opening := openFile(path, readFlags, bbolt.Options{Timeout: timeout})
	if opening == nil {
		defer db.Close()
	} else if !errors.Is(opening, ErrDamaged) {
		return 0, opening
	}
	f, err := openSafe(path, readFlags)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("the journal %s: %w", path, err)
	}
	if format, err = verifyFile(path, f, info.Size()); err != nil {
		return 0, err
	}
	return format, opening // an error that the walk did not find
}

func verifyFile(path string, file io.ReaderAt, size int64) (format uint64, err error) {
	w := &verifier{file: file, size: size, seen: map[uint64]bool{}, meta: map[string][]byte{}}
	if known, err := w.metas(); err != nil {
		if !known {
			return 0, foreign(path, "it has no journal header")
		}
		return 0, damaged(path, err)
	}
	walked := w.buckets()
	format, err = formatOf(w.meta[string(formatKey)])
	switch {
	case err == nil && format > Format: // its layout may differ
		return 0, newer(path, format)
	case errors.Is(walked, errLayout):
		return 0, foreign(path, walked.Error())
	}
	if err := cmp.Or(walked, err); err != nil {
		return 0, damaged(path, err)
	}
	if err := w.compare(format); err != nil {
		return 0, damaged(path, err)
	}
	return format, nil
}

// verifier checks one file in a single pass.
type verifier struct {
	file io.ReaderAt
	size int64

	valid bool   // a valid meta page was read
	root  uint64 // page of the root bucket
	list  uint64 // page of the free list
	end   uint64 // number of pages
	txid  uint64
	seen  map[uint64]bool

	found totals
	meta  map[string][]byte // records of the meta bucket
}

// metas reads the newest valid meta page, as bbolt does. known reports whether the file
// is one of bbolt.
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
		return known, errors.New("both meta pages are invalid")
	case w.end > uint64(w.size/pageSize):
		return true, fmt.Errorf("it is cut off after %d bytes", w.size)
	}
	return true, nil
}

// oneMeta reads a meta page and uses it if it is valid and newer. A valid page that a
// journal would not have is an error.
func (w *verifier) oneMeta(head []byte, page uint64) error {
	m := head[pageHeader:]
	word, long := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	sum := fnv.New64a()
	sum.Write(m[:56]) // never fails
	if word(m) != boltMagic || word(m[4:]) != boltVersion || sum.Sum64() != long(m[56:]) {
		return nil
	}
	txid := long(m[48:])
	if word(m[8:]) != pageSize || long(head) != page || binary.NativeEndian.Uint16(head[8:]) != metaPage || txid%2 != page {
		return errors.New("a meta page is not from a journal")
	}
	if !w.valid || txid > w.txid {
		w.valid, w.root, w.list, w.end, w.txid = true, long(m[16:]), long(m[32:]), long(m[40:]), txid
	}
	return nil
}

// buckets walks the root bucket and each bucket in it.
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

var errLayout = errors.New("unknown layout")

// record checks and counts one record of a bucket.
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

// tree walks page id and the pages below it. Keys must be between low and high; nil
// means no bound.
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
			return fmt.Errorf("page %d is used twice", id+i)
		}
		w.seen[id+i] = true
	}
	page := make([]byte, int64(pages)*pageSize)
	if _, err := w.file.ReadAt(page, int64(id)*pageSize); err != nil {
		return err
	}
	if binary.NativeEndian.Uint64(page) != id {
		return fmt.Errorf("page %d has another number", id)
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
		return errors.New("a page has the wrong type")
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

// element returns an element of a page: key, value, and the page below it or, in a
// leaf, its flags.
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

// compare compares the found totals with the recorded ones.
func (w *verifier) compare(format uint64) error {
	recorded, err := totalsOf(w.meta[string(totalsKey)], format)
	if err != nil {
		return err
	}
	if recorded.Records != w.found.Records || recorded.Bytes != w.found.Bytes || recorded.Sum != w.found.Sum {
		return fmt.Errorf("found %d records of %d bytes, recorded %d of %d, or their checksums differ", w.found.Records, w.found.Bytes, recorded.Records, recorded.Bytes)
	}
	return nil
}
