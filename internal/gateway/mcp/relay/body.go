package relay

import (
	"bytes"
	"io"
	"net/http"
)

// Body reads the body of a request, up to limit bytes. With returns the request with another
// body, for the next handler, which refuses a longer one.
func Body(w http.ResponseWriter, r *http.Request, limit int64) (body []byte, with func([]byte) *http.Request, err error) {
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	with = func(body []byte) *http.Request {
		r := r.WithContext(r.Context()) // a copy: the body belongs to the caller
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
		return r
	}
	return body, with, err
}

// failing returns the error of a body to its next reader.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}
