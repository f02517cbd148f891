package mcp

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
)

// byteOrderMark begins the text of some Windows programs. JSON has none.
var byteOrderMark = []byte("\ufeff")

// skipMark passes on requests whose body does not begin with a byte order mark.
func skipMark(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := bufio.NewReader(r.Body)
		if start, _ := body.Peek(len(byteOrderMark)); bytes.Equal(start, byteOrderMark) { // the next reader sees an error
			_, _ = body.Discard(len(start))
		}
		r = r.WithContext(r.Context()) // a copy: the body belongs to the caller
		r.Body = readCloser{body, r.Body}
		next.ServeHTTP(w, r)
	})
}

type readCloser struct {
	io.Reader
	io.Closer
}
