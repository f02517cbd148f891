package artifact

import (
	"context"
	"io"

	"troupe/spill"
)

// Project writes what log holds from offset from on to w, in bounded pieces, and says
// where it came to: a log that grows is gone on with from there. What the log's quota
// took away is told by a line of the text gap gives for so many bytes; nil: NotKept.
func Project(ctx context.Context, w io.Writer, log spill.Log, from int64, gap func(n int64) string) (int64, error) {
	if gap == nil {
		gap = NotKept
	}
	buf := make([]byte, chunk)
	for size := log.State().Size; from < size; {
		if err := ctx.Err(); err != nil {
			return from, err
		}
		n, err := log.ReadAt(buf[:min(int64(len(buf)), size-from)], from)
		if n == 0 {
			return from, unexpected(err)
		}
		keep, missing := nextGap(log.State().Gaps, from, from+int64(n)) // as it is behind the read
		if _, err := w.Write(buf[:keep-from]); err != nil {
			return from, err
		}
		if from = keep; missing == 0 {
			continue
		}
		if _, err := io.WriteString(w, gap(missing)); err != nil {
			return from, err
		}
		from += missing
	}
	return from, nil
}

// nextGap is how far of [from, to) is there, and how much is missing then.
func nextGap(gaps []spill.Gap, from, to int64) (keep, missing int64) {
	for _, g := range gaps {
		if g.To > from && g.From < to {
			return max(g.From, from), g.To - max(g.From, from)
		}
	}
	return to, 0
}
