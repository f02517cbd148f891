package keeper

import (
	"context"
	"errors"

	"troupe/messages"
)

// call is one question that waits for its answer.
type call struct {
	take func(message) (last bool, err error)
	done chan error // capacity 1
}

// call asks, and gives each answer to take until that says it was the last, in
// the goroutine that receives.
func (c *Client) call(ctx context.Context, m message, take func(message) (bool, error)) error {
	k := &call{take: take, done: make(chan error, 1)}
	c.mu.Lock()
	if m := c.outage; m != nil {
		c.mu.Unlock()
		return m.err
	}
	c.gen++
	m.gen = c.gen
	c.calls[m.gen] = k
	l := c.line
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.calls, m.gen)
		c.mu.Unlock()
	}()
	l.send(m)
	select {
	case err := <-k.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
	}
	select { // the answer may have been the last that was received
	case err := <-k.done:
		return err
	default:
		return errGone
	}
}

// errGone is what who waits for a keeper hears when that has died.
var errGone = refused(messages.Internal, "keeper", "the keeper is gone", "ask again: the next one has the jobs that can be told of")

// answered gives an answer to who waits for it.
func (c *Client) answered(m message) {
	c.mu.Lock()
	k := c.calls[m.gen]
	c.mu.Unlock()
	if k == nil {
		closeFile(m.file)
		if m.kind == sayRefused {
			if e, err := decode[messages.Error](m.body); err == nil {
				c.fault(&e)
			}
		}
		return
	}
	if m.kind == sayRefused {
		e, err := decode[messages.Error](m.body)
		if err == nil {
			err = &e
		}
		k.end(err)
		return
	}
	if last, err := k.take(m); last || err != nil {
		k.end(err)
	}
}

func (k *call) end(err error) {
	select {
	case k.done <- err:
	default:
	}
}

// isReplaced reports whether another client has come.
func isReplaced(err error) bool {
	var e *messages.Error
	return errors.As(err, &e) && e.Reason == errReplaced.Reason && e.Code == errReplaced.Code
}
