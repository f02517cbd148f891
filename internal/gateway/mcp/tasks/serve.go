package tasks

import (
	"context"
	"maps"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/gateway/mcp/relay"
)

// Methods of the extension. Any other method is unknown before its parameters are
// checked.
const (
	getMethod    = "tasks/get"
	updateMethod = "tasks/update"
	cancelMethod = "tasks/cancel"
)

var methods = []string{getMethod, updateMethod, cancelMethod}

// Serve adds the extension to a server: work that its tools return with Later becomes a
// task of this store. Call it once for each server, before the server is connected. A
// middleware added before it sees the tool's result, one added after it sees the task.
func (s *Store) Serve(server *mcp.Server) error {
	if err := mcp.AddReceivingCustomMethod(server, getMethod, s.get); err != nil {
		return err
	}
	if err := mcp.AddReceivingCustomMethod(server, updateMethod, s.update); err != nil {
		return err
	}
	if err := mcp.AddReceivingCustomMethod(server, cancelMethod, s.stop); err != nil {
		return err
	}
	server.AddReceivingMiddleware(s.middleware)
	server.AddSendingMiddleware(s.sending, relay.Sending)
	return nil
}

func (s *Store) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		switch request := r.(type) {
		case *mcp.CallToolRequest:
			return s.call(ctx, method, request, next)
		case *mcp.SubscriptionsListenRequest:
			return s.listen(ctx, method, request, next)
		case *mcp.ServerRequest[*about]:
			return s.asked(ctx, method, request.Params.id(), versionOf(request), offersTasks(request), r, next)
		case *mcp.ServerRequest[*update]:
			return s.asked(ctx, method, request.Params.id(), versionOf(request), offersTasks(request), r, next)
		}
		result, err := next(ctx, method, r)
		if found, ok := result.(*mcp.DiscoverResult); ok && err == nil {
			return declared(found), nil
		}
		return result, err
	}
}

// declared adds the extension to the capabilities of the server. Older revisions do not
// get it, since none of them has the extension.
func declared(found *mcp.DiscoverResult) *mcp.DiscoverResult {
	extended := *found
	can := mcp.ServerCapabilities{}
	if found.Capabilities != nil {
		can = *found.Capabilities
	}
	can.Extensions = maps.Clone(can.Extensions)
	can.AddExtension(Extension, nil)
	extended.Capabilities = &can
	return &extended
}

// call serves tools/call.
func (s *Store) call(ctx context.Context, method string, r *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	result, err := next(ctx, method, r)
	l := unpack(result, err)
	switch {
	case l == nil:
		return result, err
	case Offered(r):
		if t := s.begin(ctx, s.options.Client(ctx, r), l); t != nil {
			return t.seed(), nil
		}
	}
	return l.within(ctx, r, s.options.Log)
}

// asked checks a request about a task.
func (s *Store) asked(ctx context.Context, method, id, version string, offered bool, r mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	switch {
	case version < firstRevision:
		return nil, refusal(jsonrpc.CodeMethodNotFound, "tasks are an extension of revision "+firstRevision)
	case r.GetExtra() != nil && r.GetExtra().Header != nil && !namedAs(r.GetExtra().Header, id):
		return nil, notNamed()
	case !offered:
		return nil, notOffered()
	}
	t := s.find(s.options.Client(ctx, r), id)
	if t == nil {
		return nil, unknownTask()
	}
	return next(context.WithValue(ctx, taskKey{}, t), method, r)
}

// taskKey is the context key of the task of a request.
type taskKey struct{}

func (s *Store) get(ctx context.Context, _ *mcp.ServerSession, _ *about) (*detail, error) {
	return ctx.Value(taskKey{}).(*Task).detail(), nil
}

func (s *Store) update(ctx context.Context, _ *mcp.ServerSession, p *update) (*ack, error) {
	if err := ctx.Value(taskKey{}).(*Task).answer(p.InputResponses); err != nil {
		return nil, err
	}
	return acknowledged(), nil
}

func (s *Store) stop(ctx context.Context, _ *mcp.ServerSession, _ *about) (*ack, error) {
	ctx.Value(taskKey{}).(*Task).cancel()
	return acknowledged(), nil
}

func (p *about) id() string {
	if p == nil {
		return ""
	}
	return p.TaskID
}

func (p *update) id() string {
	if p == nil {
		return ""
	}
	return p.TaskID
}

func versionOf[P mcp.Params](r *mcp.ServerRequest[P]) string { return r.ProtocolVersion() }

func offersTasks[P mcp.Params](r *mcp.ServerRequest[P]) bool {
	return offered(r.ProtocolVersion(), r.ClientCapabilities())
}

// namedAs reports whether the headers of a request name the task in its body, so that a
// proxy that routes by headers is not misled. Over stdio there are no headers.
func namedAs(header http.Header, id string) bool {
	names := header.Values("Mcp-Name")
	return len(names) == 1 && strings.TrimSpace(names[0]) == id
}
