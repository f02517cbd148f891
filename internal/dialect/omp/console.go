package omp

import (
	"context"
	"errors"
	"sync"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// Console is the overlay in which a person sees a command on a terminal and types at it
// . Options.Console receives one for each such command.
//
// Show draws the overlay. Key, Kill and Resize may be called meanwhile from any goroutine.
// Calls of Key must not overlap, or the order of the keys is undefined.
type Console struct {
	host    dialect.Host
	job     messages.JobID
	command string

	turn chan struct{} // capacity 1; held while a frame is made and shown

	mu   sync.Mutex
	over bool // the last frame was made
	show func(Frame)
}

func newConsole(h dialect.Host, job messages.JobID, command string) *Console {
	return &Console{host: h, job: job, command: command, turn: make(chan struct{}, 1)}
}

// Job returns the job of the terminal.
func (c *Console) Job() messages.JobID { return c.job }

// Show shows a first frame, further ones when the terminal may have changed, at most every
// 50 ms, and a last one. The last one has the outcome and all output; Show then returns
// nil. If ctx ends earlier, the overlay is dismissed, which kills the command. Calls of
// show do not overlap. show must not call c.
func (c *Console) Show(ctx context.Context, show func(Frame)) error {
	c.shown(show)
	defer c.shown(nil)
	_, err := c.draw(ctx)
	if err == nil {
		err = dialect.Follow(ctx, c.host, c.job, messages.Merged, updateEvery, func(from int64, over bool) (int64, error) {
			if over {
				return from, c.finish(ctx)
			}
			return c.draw(ctx)
		})
	}
	if ctx.Err() == nil {
		return err
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer stop()
	return errors.Join(ctx.Err(), c.Kill(last))
}

func (c *Console) shown(show func(Frame)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.show = show
}

// draw shows the current terminal and returns how much of the output it covers.
func (c *Console) draw(ctx context.Context) (at int64, err error) {
	return c.look(ctx, func() (messages.Record, error) { return messages.Record{}, nil })
}

// finish shows the outcome of the command.
func (c *Console) finish(ctx context.Context) error {
	_, err := c.look(ctx, func() (messages.Record, error) {
		end, err := host.Ask(ctx, c.host, messages.WaitJobs{Jobs: []messages.JobID{c.job}})
		if err != nil || len(end.Jobs) == 0 {
			return messages.Record{}, err
		}
		return end.Jobs[0], nil
	})
	return err
}

func (c *Console) look(ctx context.Context, record func() (messages.Record, error)) (at int64, err error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-c.turn }()
	job, err := record()
	if err != nil {
		return 0, err
	}
	screen, err := host.Ask(ctx, c.host, messages.ReadScreen{Job: c.job})
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	show, over := c.show, c.over
	c.over = over || job.End.Outcome != ""
	c.mu.Unlock()
	if show != nil && !over {
		show(frameOf(c.command, job, screen))
	}
	return screen.At, nil
}

// Key forwards one key from the person's terminal, encoded in the program's key mode. Other
// text is typed unchanged. Esc kills the command. After the end of the command keys
// have no effect.
func (c *Console) Key(ctx context.Context, sequence []byte) error {
	if string(shelltext.TranslateKey(sequence, shelltext.KeyMode{})) == "\x1b" {
		return c.Kill(ctx)
	}
	screen, err := host.Ask(ctx, c.host, messages.ReadScreen{Job: c.job})
	if err != nil {
		return c.unlessOver(ctx, err)
	}
	data := shelltext.TranslateKey(sequence, shelltext.Modes(screen.Keys))
	if len(data) == 0 { // a key release
		return nil
	}
	return c.unlessOver(ctx, dialect.Input(ctx, c.host, messages.WriteInput{Job: c.job, Data: data}))
}

// Kill stops the command, as Esc does: SIGTERM for its processes, SIGKILL after the grace.
// A command that has ended stays unchanged.
func (c *Console) Kill(ctx context.Context) error {
	_, err := host.Ask(ctx, c.host, messages.StopCommand{Job: c.job, Grace: grace, Reason: textKilledHere})
	return c.unlessOver(ctx, err)
}

// Resize adapts the command's terminal to a new size of the person's screen, as PTYSize
// computes it.
func (c *Console) Resize(ctx context.Context, screen messages.Terminal) error {
	_, err := host.Ask(ctx, c.host, messages.ResizeTerminal{Job: c.job, Size: PTYSize(screen)})
	if err != nil {
		return c.unlessOver(ctx, err)
	}
	_, err = c.draw(ctx)
	return err
}

// unlessOver drops an error if the command has ended.
func (c *Console) unlessOver(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if job, bad := dialect.Job(ctx, c.host, c.job); bad == nil && job.End.Outcome != "" || gone(bad) {
		return nil
	}
	return err
}
