package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
)

// ErrLeft is the error of a request to a client whose input has ended: it cannot answer.
var ErrLeft = errors.New("the client has left without an answer")

// caller sends requests to the client. Its ids are strings, as some clients expect.
type caller struct {
	mu      sync.Mutex
	given   int
	pending map[string]chan message // each has room for its response
	left    bool
}

// request is a request to the client.
type request struct {
	V      string `json:"jsonrpc"`
	ID     string `json:"id"`
	Method string `json:"method"`
	Params any    `json:"params,omitempty"`
}

// Call sends a request to the client, and decodes the result into result. The error is an
// *Error of the client, ErrLeft, or that of ctx.
func (s *Server) Call(ctx context.Context, method string, params, result any) error {
	id, answer := s.caller.open()
	if answer == nil {
		return ErrLeft
	}
	defer s.caller.close(id)
	line, err := encode(request{V: "2.0", ID: id, Method: method, Params: params})
	if err != nil {
		return err
	}
	s.box.send(sent{messages: []rendering{func() []byte { return line }}})
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return ErrLeft
		case m.failure != nil:
			return m.failure
		}
		return json.Unmarshal(m.result, result)
	case <-s.box.failed:
		return ErrLeft
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open gives a request its id. answer is nil if the client has left.
func (c *caller) open() (id string, answer chan message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		return "", nil
	}
	c.given++
	id, answer = "troupe-"+strconv.Itoa(c.given), make(chan message, 1)
	if c.pending == nil {
		c.pending = map[string]chan message{}
	}
	c.pending[id] = answer
	return id, answer
}

func (c *caller) close(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// answer takes a response, and reports whether a request waits for it.
func (c *caller) answer(m message) bool {
	var id string
	if m.id == nil || json.Unmarshal(m.id, &id) != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	waits, ok := c.pending[id]
	if ok {
		delete(c.pending, id)
		waits <- m
	}
	return ok
}

// leave ends the requests that wait: no response can come.
func (c *caller) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
	for id, waits := range c.pending {
		delete(c.pending, id)
		close(waits)
	}
}
