package console

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"

	"troupe/host"
	"troupe/internal/cli/dialectconfig"
	"troupe/internal/dialect"
	"troupe/internal/dialect/codelia"
	"troupe/internal/dialect/omp"
	"troupe/messages"
)

// driver implements effects with sessions of codelia and omp. Its goroutines end with ctx.
type driver struct {
	ctx      context.Context //nolint:containedctx // the life of the console
	tell     func(tea.Msg)   // sends a message to the model; it may wait for it
	host     dialect.Host
	scope    messages.ScopePath
	bang     *codelia.Session
	tool     *dialectconfig.OMPSession
	terminal bool // the tool runs commands on a terminal
	target   target
	dir      string
	env      []string
	beside   *sync.WaitGroup
	log      *slog.Logger

	mu      sync.Mutex
	cancels map[int]func()    // stops the executions that run
	unsend  func()            // gives up the message that is being sent
	typing  chan func() error // requests of the overlay, in order; nil: there is none
	overlay *omp.Console      // the last one
}

// bangTimeout is the timeout of ! commands in seconds, the most that shell.exec allows.
var bangTimeout = 300.0

// Bang implements effects.
func (d *driver) Bang(id int, command string) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithCancel(d.ctx)
		defer cancel()
		d.stops(id, cancel)
		defer d.stops(id, nil)
		known := make(chan messages.JobID, 1)
		var watch sync.WaitGroup
		watch.Go(func() { d.watch(ctx, id, known) })
		result, err := d.bang.ExecWatched(ctx, codelia.ExecParams{Command: command, TimeoutSeconds: &bangTimeout}, func(task string) {
			d.stops(id, func() { _, _ = d.bang.Cancel(d.ctx, codelia.TaskParams{TaskID: task}) }) // an error is logged
			known <- messages.JobID(task)
		})
		cancel()
		watch.Wait()
		return d.bangEnded(bangEndedMsg{id: id, result: result, err: err}, known)
	}
}

// bangEnded adds the end of the output to the end of a command, if it has become a job.
func (d *driver) bangEnded(m bangEndedMsg, known <-chan messages.JobID) bangEndedMsg {
	select {
	case job := <-known:
		m.job = job
	default:
	}
	if m.err != nil || m.job == "" {
		return m
	}
	page, err := d.end(d.ctx, m.job, finalBytes)
	if m.text, m.cut = page.Text, page.Truncated; err != nil {
		m.text = m.result.Stdout + m.result.Stderr
	}
	return m
}

// Tool implements effects.
func (d *driver) Tool(id int, command string) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithCancel(d.ctx)
		defer cancel()
		d.stops(id, cancel)
		defer d.stops(id, nil)
		p := omp.Params{Command: command}
		if d.terminal {
			p.Env = terminalEnv(d.env)
		}
		result, err := d.tool.Bash(ctx, p, func(r dialect.Result) { d.tell(outputMsg{id: id, text: r.Text}) })
		return toolEndedMsg{id, result, err}
	}
}

// stops records how an execution is stopped; nil: it has ended.
func (d *driver) stops(id int, stop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if stop == nil {
		delete(d.cancels, id)
		return
	}
	d.cancels[id] = stop
}

// Cancel implements effects.
func (d *driver) Cancel(id int) tea.Cmd {
	return func() tea.Msg {
		d.mu.Lock()
		stop := d.cancels[id]
		d.mu.Unlock()
		if stop != nil {
			stop()
		}
		return nil
	}
}

// Promote implements effects. The jobs of the console that no one has moved to the background are
// those of its command in the foreground. Their deadline was of a command that a person waits for.
func (d *driver) Promote(id int) tea.Cmd {
	return func() tea.Msg {
		jobs, err := dialect.Jobs(d.ctx, d.host, messages.ListJobs{Scope: d.scope})
		for _, job := range jobs {
			if job.Background || job.State.Ended() || job.Tag == tagSend || err != nil {
				continue
			}
			if _, err = dialect.Promote(d.ctx, d.host, messages.JobID(job.UID)); err == nil {
				_, err = host.Ask(d.ctx, d.host, messages.ChangeDeadline{Job: messages.JobID(job.UID), None: true})
			}
		}
		return promotedMsg{id, err}
	}
}

// Complete implements effects.
func (d *driver) Complete(command string) tea.Cmd {
	return func() tea.Msg { return completedMsg{command, complete(command, d.dir, d.env)} }
}

// Show implements effects.
func (d *driver) Show(id int, r dialect.Result, width int) tea.Cmd {
	return func() tea.Msg {
		rows := d.tool.Show(d.ctx, r, omp.View{Width: width, Expanded: true})
		for i, row := range rows {
			rows[i] = strings.TrimRight(row, "\r")
		}
		return shownMsg{id, width, rows}
	}
}
