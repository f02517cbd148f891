package omp

import (
	"context"
	"errors"
	"sync"

	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// Console is the overlay through which a person sees a command that runs on a terminal, and
// types at it. Options.Console is given one for each such command.
//
// Show draws it; Key, Kill and Resize may be called meanwhile from anywhere, Key by one at
// a time, or the order of the keys is not known.
type Console struct {
	host    dialect.Host
	job     messages.JobID
	command string

	turn chan struct{} // held by who looks and shows

	mu   sync.Mutex
	over bool // its last frame was made
	show func(Frame)
}

func newConsole(h dialect.Host, job messages.JobID, command string) *Console {
	return &Console{host: h, job: job, command: command, turn: make(chan struct{}, 1)}
}

// Job is the job whose terminal it is.
func (c *Console) Job() messages.JobID { return c.job }

// Command is what runs, without the prefix of the settings.
func (c *Console) Command() string { return c.command }

// Show shows a first frame, one whenever the terminal may look different, at most each
// 50 ms, and a last one when the command has ended and all it wrote is drawn: then it
// returns nil, and the overlay is closed. A ctx that ends before dismisses the overlay,
// and that kills the command. Frames come one at a time; show must not call c.
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

// draw shows the terminal as it is, and returns how much of the output that is.
func (c *Console) draw(ctx context.Context) (at int64, err error) {
	return c.look(ctx, func() (messages.Job, error) { return messages.Job{}, nil })
}

// finish shows how the command has ended.
func (c *Console) finish(ctx context.Context) error {
	_, err := c.look(ctx, func() (messages.Job, error) {
		end, err := c.host.Await(ctx, messages.WaitJobs{Jobs: []messages.JobID{c.job}})
		if err != nil || len(end.Jobs) == 0 {
			return messages.Job{}, err
		}
		return end.Jobs[0], nil
	})
	return err
}

func (c *Console) look(ctx context.Context, record func() (messages.Job, error)) (at int64, err error) {
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
	screen, err := c.host.Screen(ctx, c.job)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	show, over := c.show, c.over
	c.over = over || job.Outcome != ""
	c.mu.Unlock()
	if show != nil && !over {
		show(frameOf(c.command, job, screen))
	}
	return screen.At, nil
}

// Key forwards one key, as the person's terminal sends it, in the way the program asked
// for; any text is typed as it is. Esc kills the command. Behind its end
// no key does anything.
func (c *Console) Key(ctx context.Context, sequence []byte) error {
	if string(shelltext.TranslateKey(sequence, shelltext.KeyMode{})) == "\x1b" {
		return c.Kill(ctx)
	}
	screen, err := c.host.Screen(ctx, c.job)
	if err != nil {
		return c.unlessOver(ctx, err)
	}
	data := shelltext.TranslateKey(sequence, shelltext.Modes(screen.Keys))
	if len(data) == 0 { // a release
		return nil
	}
	return c.unlessOver(ctx, c.host.Input(ctx, messages.WriteInput{Job: c.job, Data: data}))
}

// Kill ends the command, as Esc does: its processes get SIGTERM, and those that are there
// after the grace SIGKILL. One that has ended stays as it is.
func (c *Console) Kill(ctx context.Context) error {
	_, err := c.host.Stop(ctx, messages.StopCommand{Job: c.job, Grace: grace, Reason: textKilledHere})
	return c.unlessOver(ctx, err)
}

// Resize tells the command that the person's screen has another size; its terminal gets
// what PTYSize makes of it.
func (c *Console) Resize(ctx context.Context, screen messages.Terminal) error {
	err := c.host.Resize(ctx, messages.ResizeTerminal{Job: c.job, Size: PTYSize(screen)})
	if err != nil {
		return c.unlessOver(ctx, err)
	}
	_, err = c.draw(ctx)
	return err
}

// unlessOver is an error of a command that still runs.
func (c *Console) unlessOver(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if job, bad := c.host.Job(ctx, c.job); bad == nil && job.Outcome != "" || gone(bad) {
		return nil
	}
	return err
}
