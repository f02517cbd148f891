package engine

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// pipeEnd is the write end of a job's standard input; nil: none. For a terminal it is
// the master, which belongs to the stream.
type pipeEnd struct {
	file    *os.File
	conn    syscall.RawConn
	watched bool     // by the netpoller: a write waits for room
	master  *readEnd // set for a terminal only
}

func newPipeEnd(f *os.File) (*pipeEnd, error) {
	conn, err := f.SyscallConn()
	return &pipeEnd{file: f, conn: conn, watched: f.SetWriteDeadline(time.Time{}) == nil}, err
}

func (p *pipeEnd) close() {
	if p != nil && p.file != nil {
		_ = p.file.Close()
	}
}

// push calls try with the descriptor, whenever there may be room, until it returns
// true. watched is false if the netpoller does not watch the descriptor.
func (p *pipeEnd) push(try func(fd uintptr) bool) (watched bool, err error) {
	if p.master != nil {
		return p.master.push("terminal", try)
	}
	return p.watched, p.conn.Write(try)
}

// input is the standard input of a job: a bounded queue, and a goroutine that writes it
// while it is not empty. job.mu guards it. nil: the job has neither a pipe nor a
// terminal.
type input struct {
	end       *pipeEnd // nil: not open yet, or closed
	queue     []*piece
	queued    int     // bytes admitted and not yet written
	through   int64   // bytes written
	given     int     // number of Inputs
	waitCount int     // checks that saw it wait before its output was in the logs
	closing   *answer // CloseInput after the queue

	typed     bool // a terminal: a key ends its input, and more may follow
	closed    bool
	eofQueued bool // the end was requested: later input is refused
	feeding   bool
	reported  bool // InputWaiting was reported
	waiting   bool // last reported state
	secret    bool // the terminal does not echo

	cut     bool       // another command has the terminal now; guarded by writing
	current *piece     // the piece being written
	writing sync.Mutex // held during a write and its accounting, so that an exit sees both or none
}

// piece is one Input, or the key that ends the input.
type piece struct {
	data  []byte
	raw   bool
	eof   bool // data is set when it is written
	size  int  // bytes admitted
	to    *answer
	taken int // bytes written to the kernel; guarded by input.writing
}

// ackWritten answers the current piece if the kernel has all of it.
func (in *input) ackWritten() {
	if in == nil {
		return
	}
	p := in.current
	if p == nil || p.to.fact != nil {
		return
	}
	in.writing.Lock()
	defer in.writing.Unlock()
	switch {
	case p.taken < len(p.data):
	case !p.eof:
		in.through += int64(len(p.data))
		p.to.fact = messages.InputWritten{Through: in.through}
	case p.taken > 0:
		p.to.fact = messages.ControlDone{}
	}
}

// admit counts n bytes as queued, or returns the refusal.
func (in *input) admit(n int) messages.ProcessFact {
	switch {
	case in == nil:
		return noInput()
	case in.closed || in.eofQueued:
		return refusal(messages.NoInput, "the standard input of the job is closed")
	case n > messages.MaxInput:
		return refusal(messages.TooLarge, "the input is too large; give at most 256 KiB at once")
	case in.queued+n > messages.MaxInput:
		return messages.ControlRefused{Err: messages.Error{
			Code: messages.ResourceExhausted, Reason: "input",
			Message: "256 KiB of input wait already for the job to read them",
			Hint:    "wait until they are written, then go on",
		}}
	}
	in.queued += n
	return nil
}

func noInput() messages.ProcessFact {
	return messages.ControlRefused{Err: messages.Error{
		Code: messages.NoInput, Message: "the job has no standard input", Hint: "start one with stdin pipe, as troupe run -b -i does",
	}}
}

// shut detaches the pipe, so that nothing more can be written.
func (in *input) shut() *pipeEnd {
	if in == nil {
		return nil
	}
	end := in.end
	in.end, in.closed = nil, true
	return end
}

// reportWaiting reports a change of whether the job waits for input. The caller holds
// mu.
func (in *input) reportWaiting(j *job, awaited, secret bool) {
	if in != nil && (in.waiting != awaited || in.secret != secret) {
		in.waiting, in.secret, in.reported = awaited, secret, true
		j.enqueue(messages.InputWaiting{Waiting: awaited, Secret: secret})
	}
}

// awaitInput watches the job for span, if it can wait for input at all.
func (j *job) awaitInput(span time.Duration, to *answer) {
	j.mu.Lock()
	in := j.input
	open := in != nil && !in.closed && !in.eofQueued
	j.mu.Unlock()
	switch {
	case in == nil:
		j.answer(to, noInput())
	case !open:
		j.answer(to, refusal(messages.NoInput, "the standard input of the job is closed"))
	default:
		j.engine.host.awaitInput(j, span, to)
	}
}

// feed queues bytes and starts the writer.
func (j *job) feed(p *piece) {
	j.mu.Lock()
	in := j.input
	in.queue = append(in.queue, p)
	in.given++
	tell := in.reported
	in.reportWaiting(j, false, false)
	j.startFeeding()
	j.mu.Unlock()
	if tell {
		j.tell()
		j.engine.host.inputWatch.soon(j)
	}
}

// maxEnd is how many keys end the input of a terminal.
const maxEnd = 2

// closeInput ends the input after what was given before. On a terminal it types the key
// for that: once at the start of a line or in a mode without lines, twice within a
// line. There the first submits the line. Input may follow.
func (j *job) closeInput(to *answer) {
	in := j.input
	if in == nil {
		j.answer(to, noInput())
		return
	}
	j.mu.Lock()
	if in.typed && !in.closed {
		fact := in.admit(maxEnd)
		j.mu.Unlock()
		if fact != nil {
			j.answer(to, fact)
			return
		}
		j.feed(&piece{eof: true, size: maxEnd, to: to})
		return
	}
	if in.closing != nil || in.closed {
		j.mu.Unlock()
		j.answer(to, messages.ControlDone{})
		return
	}
	in.closing = to
	j.startFeeding()
	j.mu.Unlock()
}

// startFeeding starts the writer, if none runs. The caller holds mu.
func (j *job) startFeeding() {
	if !j.input.feeding {
		j.input.feeding = true
		j.engine.run(j, j.writeInput)
	}
}

// writeInput writes the queue into the pipe.
func (j *job) writeInput() {
	for {
		j.mu.Lock()
		in := j.input
		if len(in.queue) == 0 {
			in.feeding = false
			to := in.closing
			var end *pipeEnd
			if to != nil {
				end = in.shut()
				in.reportWaiting(j, false, false)
				if to.fact == nil {
					to.fact = messages.ControlDone{} // before the job can see it and exit
				}
			}
			j.mu.Unlock()
			end.close()
			if to != nil {
				j.answer(to, nil)
			}
			return
		}
		p, end, t := in.queue[0], in.end, j.term
		in.queue, in.current = in.queue[1:], p
		j.mu.Unlock()
		j.wrote(p, j.writeAs(t, end, p))
	}
}

// writeAs writes a piece to a pipe, or types it into a terminal.
func (j *job) writeAs(t *terminal, end *pipeEnd, p *piece) error {
	if t == nil {
		return j.writePiece(end, p)
	}
	j.input.writing.Lock()
	bad := t.prepare(p)
	j.input.writing.Unlock()
	if bad != nil {
		return bad
	}
	t.keys.Store(true)
	err := j.writePiece(end, p)
	if err == nil {
		t.typed(p.data)
	}
	return err
}

// writePiece writes a whole piece, and waits in the netpoller for room. If the
// netpoller does not watch the pipe, it retries at growing intervals.
func (j *job) writePiece(end *pipeEnd, p *piece) error {
	if end == nil {
		return os.ErrClosed
	}
	for pause := retryFirst; ; pause = min(2*pause, retryLast) {
		var failed error
		watched, err := end.push(func(fd uintptr) bool {
			failed = j.writeSome(int(fd), p)
			return failed != unix.EAGAIN
		})
		if failed != unix.EAGAIN || watched || !j.engine.host.rest(pause) {
			return errors.Join(err, failed)
		}
	}
}

// writeSome writes as much as the pipe has room for.
func (j *job) writeSome(fd int, p *piece) error {
	j.input.writing.Lock()
	defer j.input.writing.Unlock()
	for p.taken < len(p.data) {
		if j.input.cut {
			return os.ErrClosed
		}
		n, err := j.engine.opt.Sys.Write(fd, p.data[p.taken:])
		if err != nil {
			return err
		}
		p.taken += n
	}
	return nil
}

// wrote answers an Input. After an error the pipe is closed. A piece that a terminal
// refused was not written.
func (j *job) wrote(p *piece, err error) {
	j.mu.Lock()
	in := j.input
	in.queued -= p.size
	var fact messages.ProcessFact
	var end *pipeEnd
	var bad *messages.Error
	if !errors.As(err, &bad) {
		in.ackWritten()
	}
	in.current = nil
	switch {
	case err == nil:
	case bad != nil:
		fact = messages.ControlRefused{Err: *bad}
	case j.phase >= phaseExited:
		fact = refusal(messages.JobFinished, "the process exited before it took what it was given")
	case j.escalation != nil: // a killed process closes its pipe before its exit is seen
		fact = refusal(messages.JobFinished, "the job is being ended and takes no more")
	default:
		end = in.shut()
		in.reportWaiting(j, false, false)
		fact = messages.ControlRefused{Err: messages.Error{
			Code: messages.NoInput, Reason: name(errno(err)),
			Message: "the job has closed its standard input",
		}}
	}
	j.mu.Unlock()
	end.close()
	j.answer(p.to, fact)
}
