package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/dialect"
	"troupe/internal/dialect/core"
	"troupe/messages"
	"troupe/spill/view"
)

// Templates of the resources.
const (
	jobTemplate      = "job://{id}"
	artifactTemplate = "artifact://{id}/{stream}{?offset,limit}"
)

// defaultPart bounds one read of an output. A client reads a large output in parts.
const defaultPart = messages.MaxViewBytes

// addResources adds the templates to the server of a client: any of its jobs can be
// read. Running jobs and those with more output than their result showed are listed.
func (c *client) addResources() {
	c.sdk.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "job", Title: "The record of a job", URITemplate: jobTemplate, MIMEType: "application/json",
		Description: "what there is to know of a job of this client: its state, how it ended, the sizes of its outputs",
	}, c.readJob)
	c.sdk.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "output", Title: "The output of a job", URITemplate: artifactTemplate, MIMEType: "text/plain",
		Description: "what a job has written: stream is merged, or stdout or stderr of one that keeps them apart; offset and limit are bytes",
	}, c.readOutput)
}

func (c *client) readJob(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	u, err := url.Parse(req.Params.URI)
	if err != nil {
		return nil, sdk.ResourceNotFoundError(req.Params.URI)
	}
	job, err := c.resource(ctx, req, u.Host)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	return one(&sdk.ResourceContents{URI: req.Params.URI, MIMEType: "application/json", Text: string(text)}), nil
}

func (c *client) readOutput(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	u, err := url.Parse(uri)
	if err != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	job, err := c.resource(ctx, req, u.Host)
	if err != nil {
		return nil, err
	}
	stream, err := streamOf(job, strings.TrimPrefix(u.Path, "/"))
	if err != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	return readPart(uri, u.Query(), func(offset, limit int64) (Bytes, error) {
		return c.options.Host.Bytes(ctx, messages.JobID(job.UID), stream, offset, int(limit), false)
	})
}

// readPart reads the part of an output that the query of its URI names.
func readPart(uri string, query url.Values, read func(offset, limit int64) (Bytes, error)) (*sdk.ReadResourceResult, error) {
	offset, err := number(query, "offset", 0, 0)
	if err != nil {
		return nil, err
	}
	limit, err := number(query, "limit", 1, defaultPart) // 0 would mean all to the host
	if err != nil {
		return nil, err
	}
	b, err := read(offset, min(limit, defaultPart))
	if err != nil {
		return nil, err
	}
	if !query.Has("limit") {
		b = wholePart(b)
	}
	contents := &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Meta: sdk.Meta{"troupe/next": b.Next, "troupe/size": b.Size}}
	if len(b.Gaps) > 0 {
		contents.Meta["troupe/missing"] = missing(b.Gaps)
	}
	if utf8.Valid(b.Data) {
		contents.Text = withGaps(b, offset)
		if contents.Text == "" {
			contents.Blob = []byte{} // the SDK omits an empty text, but the resource needs contents
		}
	} else {
		contents.MIMEType, contents.Blob = "application/octet-stream", b.Data
	}
	return one(contents), nil
}

// wholePart moves an incomplete character at the end to the next part, so that text is
// not sent as bytes.
func wholePart(b Bytes) Bytes {
	for cut := 1; cut < utf8.UTFMax && cut < len(b.Data) && b.Next < b.Size; cut++ {
		if n := len(b.Data) - cut; utf8.RuneStart(b.Data[n]) {
			if gaps := len(b.Gaps); !utf8.FullRune(b.Data[n:]) && (gaps == 0 || b.Gaps[gaps-1].To <= b.Next-int64(cut)) {
				b.Data, b.Next = b.Data[:n], b.Next-int64(cut)
			}
			break
		}
	}
	return b
}

// withGaps returns the text of a part. A line stands for each gap, so that the text on
// its two sides does not look like one line.
func withGaps(b Bytes, offset int64) string {
	var text strings.Builder
	rest := b.Data
	for _, g := range b.Gaps {
		before := min(max(g.From-offset, 0), int64(len(rest)))
		text.Write(rest[:before])
		text.WriteString("\n" + view.GapText(g.To-g.From))
		rest, offset = rest[before:], g.To
	}
	text.Write(rest)
	return text.String()
}

func one(c *sdk.ResourceContents) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}
}

// resource finds the job of a URI. Jobs of other clients are not found.
func (c *client) resource(ctx context.Context, req *sdk.ReadResourceRequest, id string) (messages.Record, error) {
	if err := c.enter(ctx, req.ClientInfo); err != nil {
		return messages.Record{}, err
	}
	job, err := c.own(ctx, id)
	if isCode(err, messages.NotFound) || isCode(err, messages.InvalidParams) {
		return job, sdk.ResourceNotFoundError(req.Params.URI)
	}
	return job, err
}

// number returns a number of bytes from a URI.
func number(query url.Values, name string, least, absent int64) (int64, error) {
	text := query.Get(name)
	if text == "" {
		return absent, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least {
		return 0, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("%s is %s; it must be a number of bytes, from %d", name, core.Preview(text), least)}
	}
	return n, nil
}

// updated notifies the subscribers of a job's resources.
func (c *client) updated(fact messages.CommandFact) {
	job := fact.Record()
	if _, retired := fact.(messages.CommandRetired); retired {
		return // reported with the end
	}
	uris := []string{core.Resource(job.ID)}
	if job.State.Ended() {
		for _, o := range job.Output {
			uris = append(uris, core.Artifact(job.ID, o.Stream))
		}
	}
	for _, uri := range uris {
		_ = c.sdk.ResourceUpdated(c.ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}) // fails only if the client has left
	}
}

// show lists a job and its outputs as resources and removes the oldest ones above the
// limit.
func (c *client) show(job messages.Record) {
	c.mu.Lock()
	if _, shown := c.listed[job.ID]; shown {
		c.mu.Unlock()
		return
	}
	uris := []string{core.Resource(job.ID)}
	for _, o := range job.Output {
		uris = append(uris, core.Artifact(job.ID, o.Stream))
	}
	c.listed[job.ID] = uris
	c.order = append(c.order, job.ID)
	var gone []string
	if len(c.order) > maxListed {
		gone = c.listed[c.order[0]]
		delete(c.listed, c.order[0])
		c.order = c.order[1:]
	}
	c.mu.Unlock()
	title := core.Preview(job.Command)
	c.sdk.AddResource(&sdk.Resource{URI: uris[0], Name: string(job.ID), Title: title, MIMEType: "application/json", Description: "the record of the job"}, c.readJob)
	for _, uri := range uris[1:] {
		c.sdk.AddResource(&sdk.Resource{URI: uri, Name: strings.TrimPrefix(uri, "artifact://"), Title: title, MIMEType: "text/plain", Description: "what it has written"}, c.readOutput)
	}
	if len(gone) > 0 {
		c.sdk.RemoveResources(gone...)
	}
}

// complete completes the id in a template with the client's jobs.
func (c *client) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	out := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
	add := func(value string) {
		if strings.HasPrefix(value, req.Params.Argument.Value) && len(out.Completion.Values) < maxCompleted {
			out.Completion.Values = append(out.Completion.Values, value)
		}
	}
	switch req.Params.Argument.Name {
	case "stream":
		for _, s := range []messages.Stream{messages.Merged, messages.Stdout, messages.Stderr} {
			add(s.String())
		}
	case "id":
		if err := c.enter(ctx, req.ClientInfo); err != nil {
			return nil, err
		}
		jobs, err := dialect.Jobs(ctx, c.options.Host, messages.ListJobs{Scope: c.scope, Finished: true})
		if err != nil {
			return nil, err
		}
		for i := range jobs {
			add(string(jobs[len(jobs)-1-i].ID))
		}
	}
	out.Completion.Total = len(out.Completion.Values)
	return out, nil
}

// maxCompleted is the protocol's limit for one reply.
const maxCompleted = 100
