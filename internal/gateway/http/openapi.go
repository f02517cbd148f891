package http

import (
	"net/http"
	"strconv"

	"troupe/internal/api"
)

// openapi sends the description of the API.
func (c *request) openapi() error {
	text := api.Document()
	c.w.Header().Set("Content-Type", api.YAML)
	c.w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	replyInTime(c.w)
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write([]byte(text)) // the client may have disconnected
	return nil
}
