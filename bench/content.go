//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os"
	"strings"
)

// content is a large output of random bytes: a file written several times. It stays in
// the page cache, so that it costs no more to produce than zeros.
type content struct {
	file  string
	size  int64 // of the file, in bytes
	times int
}

// maxContent bounds the file, in bytes.
const maxContent = 64 << 20

// contentSeed makes the content equal in every run.
const contentSeed = 2

// makeContent writes the file for an output of mib MiB. It keeps nothing in memory,
// which is measured.
func makeContent(file string, mib int) (content, error) {
	whole := int64(mib) << 20
	size := min(whole, maxContent)
	c := content{file: file, size: size, times: int(whole / size)}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return c, err
	}
	_, err = io.Copy(f, c.block())
	return c, errors.Join(err, f.Close())
}

// block returns the bytes of the file.
func (c content) block() io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{contentSeed}), c.size)
}

// sum returns the SHA-256 of the whole output.
func (c content) sum() (string, error) {
	whole := sha256.New()
	for range c.times {
		if _, err := io.Copy(whole, c.block()); err != nil {
			return "", err
		}
	}
	return sumOf(whole), nil
}

func (c content) bytes() int64 { return c.size * int64(c.times) }

// producer returns the shell command that writes the content to standard output.
func (c content) producer() string {
	return "cat" + strings.Repeat(fmt.Sprintf(" '%s'", c.file), c.times)
}

// sumReader returns the SHA-256 of r.
func sumReader(r io.Reader) (string, error) {
	whole := sha256.New()
	_, err := io.Copy(whole, r)
	return sumOf(whole), err
}

func sumOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }
