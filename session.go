package troupe

import (
	"context"

	"troupe/host"
	"troupe/messages"
)

// Session is a place to run. With the backend messages.BackendShell it is a live shell: the
// directory, variables and functions of a command stay for the next one.
type Session struct {
	node *Node
	id   messages.SessionID
}

// Session opens a session, or returns the open one if it has the same plan.
func (n *Node) Session(ctx context.Context, id messages.SessionID, p Plan) (*Session, error) {
	opened, err := host.Ask(ctx, n.host, messages.OpenSession{Session: id, SessionPlan: p})
	if err != nil {
		return nil, err
	}
	return &Session{node: n, id: opened.Info.Session}, nil
}

// Run runs a command in the session, as Node.Run does.
func (s *Session) Run(ctx context.Context, c Command) (Record, error) {
	c.Session = s.id
	return s.node.Run(ctx, c)
}

// Output runs a command in the session, as Node.Output does.
func (s *Session) Output(ctx context.Context, c Command) (string, error) {
	c.Session = s.id
	return s.node.Output(ctx, c)
}

// Start starts a command in the session, as Node.Start does.
func (s *Session) Start(ctx context.Context, c Command) (*Job, error) {
	c.Session = s.id
	return s.node.Start(ctx, c)
}

// Close stops the jobs of the session and its shell.
func (s *Session) Close(ctx context.Context) error {
	closed, err := host.Ask(ctx, s.node.host, messages.CloseSession{Session: s.id})
	if err == nil && len(closed.Survivors) > 0 {
		return &SurvivorsError{Survivors: closed.Survivors}
	}
	return err
}
