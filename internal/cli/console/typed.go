package console

import (
	"context"

	"troupe/internal/dialect"
	"troupe/internal/dialect/omp"
	"troupe/messages"
)

// mostTyped bounds the keys that wait for a terminal.
const mostTyped = 256

// show shows a command on a terminal in the overlay, until it has ended. It returns at
// once: the command waits for that.
func (d *driver) show(c *omp.Console) {
	typing := make(chan func() error, mostTyped)
	d.mu.Lock()
	d.typing, d.overlay = typing, c
	d.mu.Unlock()
	ctx, over := context.WithCancel(d.ctx)
	d.beside.Go(func() { d.typed(ctx, typing) })
	d.beside.Go(func() {
		defer over()
		err := c.Show(d.ctx, func(f omp.Frame) { d.tell(overlayMsg{f}) })
		d.mu.Lock()
		d.typing = nil
		d.mu.Unlock()
		if err != nil && d.ctx.Err() == nil {
			d.log.Warn("the terminal of a command could not be shown", "job", c.Job(), "error", err)
		}
		d.tell(closedMsg{})
	})
}

// typed makes the requests of the overlay one after another, so that keys keep their order.
func (d *driver) typed(ctx context.Context, typing <-chan func() error) {
	for {
		select {
		case request := <-typing:
			if err := request(); err != nil && ctx.Err() == nil {
				d.log.Warn("the terminal of a command has refused a request", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// ask queues a request of the overlay. It reports whether there was room.
func (d *driver) ask(request func(*omp.Console) error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.typing == nil {
		return true // the command has ended: keys have no effect
	}
	c := d.overlay
	select {
	case d.typing <- func() error { return request(c) }:
		return true
	default:
		return false
	}
}

// Key implements effects.
func (d *driver) Key(sequence []byte) bool {
	return d.ask(func(c *omp.Console) error { return c.Key(d.ctx, sequence) })
}

// Paste implements effects.
func (d *driver) Paste(text string) bool {
	return d.ask(func(c *omp.Console) error {
		return dialect.Input(d.ctx, d.host, messages.WriteInput{Job: c.Job(), Paste: text})
	})
}

// Resize implements effects.
func (d *driver) Resize(screen messages.Terminal) bool {
	return d.ask(func(c *omp.Console) error { return c.Resize(d.ctx, screen) })
}
