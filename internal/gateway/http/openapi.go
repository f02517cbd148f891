package http

import (
	_ "embed" // of the document
	"net/http"
	"strconv"
)

// openapiText is the description of the API, which a test compares with the routes.
//
//go:embed openapi.yaml
var openapiText string

// openapi sends the description of the API.
func (c *request) openapi() error {
	c.w.Header().Set("Content-Type", yamlType)
	c.w.Header().Set("Content-Length", strconv.Itoa(len(openapiText)))
	replyInTime(c.w)
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write([]byte(openapiText)) // the client may have disconnected
	return nil
}

// yamlType is the media type of YAML (RFC 9512).
const yamlType = "application/yaml"
