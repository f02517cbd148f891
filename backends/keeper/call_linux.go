package keeper

import (
	"context"
	"errors"

	"troupe/messages"
)

// call is one request that waits for its answer.
type call struct {
	take func(message) (last bool, err error)
	done chan error // capacity 1
}

// call sends a request and passes each answer to take, in the receiving goroutine,
// until take returns last.
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
	l := c.link
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
	select { // the answer may have come last
	case err := <-k.done:
		return err
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	return errGone
}

// read sends a request that changes nothing, as call does. If the keeper dies meanwhile, read
// sends it to the next one, which has the jobs on record.
func (c *Client) read(ctx context.Context, m message, take func(message) (bool, error)) error {
	for {
		err := c.call(ctx, m, take)
		if err != errGone { // the same value: a refusal of the keeper may look like it
			return err
		}
		select {
		case <-c.done: // no keeper follows
			return err
		default:
		}
	}
}

// errClosed is the result of calls that the end of the client cuts off: the keeper lives.
var errClosed = refused(messages.ShuttingDown, "", "the node is shutting down", "retry when the next one runs")

// errGone is the result of calls to a keeper that has died.
var errGone = refused(messages.Internal, "keeper", "the keeper has died", "retry: the next keeper has the jobs on record")

// answered passes an answer to its call.
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

// isReplaced reports whether another client has replaced this one.
func isReplaced(err error) bool {
	var e *messages.Error
	return errors.As(err, &e) && e.Reason == errReplaced.Reason && e.Code == errReplaced.Code
}
