package codelia

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"troupe/internal/artifact"
)

// A stream up to maxLines and maxBytes is shown whole, of a longer one its ends.
const (
	maxLines     = 160
	endLines     = maxLines / 2
	maxBytes     = 64 << 10
	endBytes     = maxBytes / 2
	captureLimit = 10 << 20 // of both streams
)

// excerpt returns what is shown of the first size bytes of a stream, and whether it is cut.
func excerpt(ctx context.Context, r io.ReaderAt, size int64) (string, bool, error) {
	total, err := artifact.CountLines(ctx, r, size)
	if err != nil {
		return "", false, err
	}
	if size <= maxBytes && total <= maxLines {
		text, err := part(r, 0, size, size)
		return text, false, err
	}
	if total > maxLines {
		ends, err := artifact.ReadHeadTail(r, size, total, artifact.HeadTailOptions{Head: endLines, Tail: endLines, Bytes: maxBytes})
		if err != nil {
			return "", false, err
		}
		if ends.HeadLines == endLines && ends.TailLines == endLines && ends.Cut == 0 {
			return ends.Head + fmt.Sprintf(textCutLines, ends.Omitted) + "\n" + ends.Tail, true, nil
		}
	}
	head, err := part(r, 0, endBytes, size)
	if err != nil {
		return "", false, err
	}
	tail, err := part(r, size-endBytes, size, size)
	if err != nil {
		return "", false, err
	}
	return head + "\n" + fmt.Sprintf(textCutSize, size-2*endBytes) + "\n" + tail, true, nil
}

// part returns the text of the bytes [from, to) of a stream of size bytes, without runes
// that are cut at its ends.
func part(r io.ReaderAt, from, to, size int64) (string, error) {
	data := make([]byte, to-from)
	n, err := r.ReadAt(data, from)
	if n < len(data) && err != nil {
		return "", err
	}
	for i := 0; from > 0 && i < utf8.UTFMax && len(data) > 0 && !utf8.RuneStart(data[0]); i++ {
		data = data[1:]
	}
	for i := 1; to < size && i <= min(utf8.UTFMax, len(data)); i++ {
		if at := len(data) - i; utf8.RuneStart(data[at]) {
			if !utf8.FullRune(data[at:]) {
				data = data[:at]
			}
			break
		}
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), nil
}
