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

// pipeEnd is the write end of a job's standard input. A nil one is none. That of a
// terminal is its master, which is its stream's.
type pipeEnd struct {
	file    *os.File
	conn    syscall.RawConn
	watched bool     // by the netpoller: a write waits for room
	master  *readEnd // not nil: a terminal, and nothing else
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

// push calls try with the descriptor until that reports true, whenever there may be
// room. It reports false if nobody says when that is.
func (p *pipeEnd) push(try func(fd uintptr) bool) (watched bool, err error) {
	if p.master != nil {
		return p.master.push("terminal", try)
	}
	return p.watched, p.conn.Write(try)
}

// input is what a job is given on its standard input: a bounded queue and one
// goroutine that empties it, which exists only while there is something in it.
// Guarded by job.mu. A nil one is that of a job that has neither a pipe nor a terminal
// for it.
type input struct {
	end       *pipeEnd // nil: not yet, or no more
	queue     []*piece
	queued    int // bytes admitted and not yet written
	through   int64
	given     int     // how often it was given something
	waitCount int     // looks that saw it wait before its output was in the logs
	closing   *answer // CloseInput, behind the queue

	typed     bool // a terminal: its end is a key, behind which more may come
	closed    bool
	eofQueued bool // its end was asked for: nothing is admitted behind that
	feeding   bool
	reported  bool // whether the job waits for it was said
	waiting   bool // it does
	secret    bool // and shows nothing of it

	cut     bool       // the terminal is another command's now; guarded by writing
	current *piece     // in the hands of the goroutine
	writing sync.Mutex // of a write and the account of it, so that an exit finds both or none
}

// piece is one Input, or the key for its end.
type piece struct {
	data  []byte
	raw   bool
	eof   bool // data is what that takes, when it is its turn
	size  int  // admitted
	to    *answer
	taken int // by the kernel; guarded by input.writing
}

// ackWritten answers the piece that is being written, if the kernel has all of it.
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

// admit reports why n more bytes cannot be taken, or counts them.
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

// shut takes the pipe away: nothing more can be written.
func (in *input) shut() *pipeEnd {
	if in == nil {
		return nil
	}
	end := in.end
	in.end, in.closed = nil, true
	return end
}

// reportWaiting says that the job waits for input, or no longer does, if that is new. Called
// with mu.
func (in *input) reportWaiting(j *job, awaited, secret bool) {
	if in != nil && (in.waiting != awaited || in.secret != secret) {
		in.waiting, in.secret, in.reported = awaited, secret, true
		j.enqueue(messages.InputWaiting{Waiting: awaited, Secret: secret})
	}
}

// awaitInput has the job looked at for so long, if it can wait for input at all.
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

// feed queues bytes, and sees to it that somebody writes them.
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

// maxEnd is how many keys the end of the input takes on a terminal.
const maxEnd = 2

// closeInput ends the input behind what was given before. On a terminal it types the
// key for that: once at the beginning of a line, twice behind one that was begun (the
// first hands that over), once where keys are read one by one; and more may follow.
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

// startFeeding is called with mu.
func (j *job) startFeeding() {
	if !j.input.feeding {
		j.input.feeding = true
		j.engine.run(j, j.writeInput)
	}
}

// writeInput empties the queue into the pipe.
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

// writeAs writes a piece as it is, or types it.
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

// writePiece writes all of a piece, waiting in the netpoller for room. Where that
// would not have the pipe it looks, ever more seldom.
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

// writeSome writes what the pipe has room for.
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

// wrote answers an Input. After a failure the pipe is of no use any more; what a
// terminal would not have was not written.
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
