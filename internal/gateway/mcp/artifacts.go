package mcp

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// numberedTemplate is the template of the files of a session whose results name them by
// number.
const numberedTemplate = "artifact://{id}{?offset,limit}"

// Artifacts is a Session whose results name files as artifact://N.
type Artifacts interface {
	// Artifact returns the path of the file with a number.
	Artifact(id string) (string, error)
}

// addArtifacts adds the template of the files to the server of a client.
func (c *client) addArtifacts(d *Dialect) {
	c.sdk.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "artifact", Title: "A whole output", URITemplate: numberedTemplate, MIMEType: "text/plain",
		Description: "the output that a result names as artifact://N; offset and limit are bytes",
	}, func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		s, err := c.speaks(ctx, d, req.ClientInfo)
		if err != nil {
			return nil, err
		}
		u, err := url.Parse(req.Params.URI)
		if err != nil {
			return nil, sdk.ResourceNotFoundError(req.Params.URI)
		}
		path, err := s.Session.(Artifacts).Artifact(u.Host)
		if err != nil {
			return nil, sdk.ResourceNotFoundError(req.Params.URI)
		}
		return readPart(req.Params.URI, u.Query(), func(offset, limit int64) (Bytes, error) { return fileBytes(path, offset, limit) })
	})
}

// fileBytes returns a part of a file.
func fileBytes(path string, offset, limit int64) (Bytes, error) {
	f, err := os.Open(path)
	if err != nil {
		return Bytes{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Bytes{}, err
	}
	b := Bytes{Data: make([]byte, max(0, min(limit, info.Size()-offset))), Size: info.Size()}
	n, err := f.ReadAt(b.Data, offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	b.Data, b.Next = b.Data[:n], offset+int64(n)
	return b, err
}
