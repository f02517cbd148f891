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

// pipeEnd is the write end of a job's standard input. A nil one is none.
type pipeEnd struct {
	file    *os.File
	conn    syscall.RawConn
	watched bool // by the netpoller: a write waits for room
}

func newPipeEnd(f *os.File) (*pipeEnd, error) {
	conn, err := f.SyscallConn()
	return &pipeEnd{f, conn, f.SetWriteDeadline(time.Time{}) == nil}, err
}

func (p *pipeEnd) close() {
	if p != nil {
		_ = p.file.Close()
	}
}

// input is what a job is given on its standard input: a bounded queue and one
// goroutine that empties it, which exists only while there is something in it.
// Guarded by job.mu.
type input struct {
	wanted  bool     // the job has a pipe for it
	end     *pipeEnd // nil: not yet, or no more
	closed  bool
	last    bool // its end was asked for: nothing is admitted behind that
	queue   []*piece
	queued  int // bytes admitted and not yet written
	through int64
	feeding bool
	given   int     // how often it was given something
	looked  bool    // whether the job waits for it was said
	awaited bool    // it does
	closing *answer // CloseInput, behind the queue

	now     *piece     // in the hands of the goroutine
	writing sync.Mutex // of a write and the account of it, so that an exit finds both or none
}

// piece is one Input.
type piece struct {
	data  []byte
	to    *answer
	taken int // by the kernel; guarded by input.writing
}

// account answers the piece that is being written, if the kernel has all of it.
func (in *input) account() {
	p := in.now
	if p == nil || p.to.fact != nil {
		return
	}
	in.writing.Lock()
	defer in.writing.Unlock()
	if p.taken == len(p.data) {
		in.through += int64(len(p.data))
		p.to.fact = messages.InputWritten{Through: in.through}
	}
}

// admit reports why n more bytes cannot be taken, or counts them.
func (in *input) admit(n int) messages.ProcessFact {
	switch {
	case !in.wanted:
		return refusal(messages.NoInput, "the job has no standard input; start it with stdin pipe")
	case in.closed || in.last:
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

// shut takes the pipe away: nothing more can be written.
func (in *input) shut() *pipeEnd {
	end := in.end
	in.end, in.closed = nil, true
	return end
}

// say says that the job waits for input, or no longer does, if that is new. Called
// with mu.
func (in *input) say(j *job, awaited bool) {
	if in.awaited != awaited {
		in.awaited, in.looked = awaited, true
		j.say(messages.InputAwaited{Waiting: awaited})
	}
}

// awaitInput has the job looked at for so long, if it can wait for input at all.
func (j *job) awaitInput(span time.Duration, to *answer) {
	j.mu.Lock()
	wanted, open := j.input.wanted, !j.input.closed && !j.input.last
	j.mu.Unlock()
	switch {
	case !wanted:
		j.answer(to, refusal(messages.NoInput, "the job has no standard input; start it with stdin pipe"))
	case !open:
		j.answer(to, refusal(messages.NoInput, "the standard input of the job is closed"))
	default:
		j.e.host.awaitInput(j, span, to)
	}
}

// feed queues bytes, and sees to it that somebody writes them.
func (j *job) feed(data []byte, to *answer) {
	j.mu.Lock()
	in := &j.input
	in.queue = append(in.queue, &piece{data: data, to: to})
	in.given++
	tell := in.looked
	in.say(j, false)
	j.startFeeding()
	j.mu.Unlock()
	if tell {
		j.tell()
		j.e.host.awaits.soon(j)
	}
}

// closeInput ends the input behind what was given before.
func (j *job) closeInput(to *answer) {
	j.mu.Lock()
	in := &j.input
	if !in.wanted || in.closing != nil || in.closed {
		wanted := in.wanted
		j.mu.Unlock()
		if !wanted {
			j.answer(to, refusal(messages.NoInput, "the job has no standard input; start it with stdin pipe"))
			return
		}
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
		j.e.run(j, j.writeInput)
	}
}

// writeInput empties the queue into the pipe.
func (j *job) writeInput() {
	for {
		j.mu.Lock()
		in := &j.input
		if len(in.queue) == 0 {
			in.feeding = false
			to := in.closing
			var end *pipeEnd
			if to != nil {
				end = in.shut()
				in.say(j, false)
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
		p, end := in.queue[0], in.end
		in.queue, in.now = in.queue[1:], p
		j.mu.Unlock()
		j.wrote(p, j.writePiece(end, p))
	}
}

// writePiece writes all of a piece, waiting in the netpoller for room. Where that
// would not have the pipe it looks, ever more seldom.
func (j *job) writePiece(end *pipeEnd, p *piece) error {
	if end == nil {
		return os.ErrClosed
	}
	for pause := retryFirst; ; pause = min(2*pause, retryLast) {
		var failed error
		err := end.conn.Write(func(fd uintptr) bool {
			failed = j.writeSome(int(fd), p)
			return failed != unix.EAGAIN
		})
		if failed != unix.EAGAIN || end.watched || !j.e.host.rest(pause) {
			return errors.Join(err, failed)
		}
	}
}

// writeSome writes what the pipe has room for.
func (j *job) writeSome(fd int, p *piece) error {
	j.input.writing.Lock()
	defer j.input.writing.Unlock()
	for p.taken < len(p.data) {
		n, err := j.e.opt.Sys.Write(fd, p.data[p.taken:])
		if err != nil {
			return err
		}
		p.taken += n
	}
	return nil
}

// wrote answers an Input. After a failure the pipe is of no use any more.
func (j *job) wrote(p *piece, err error) {
	j.mu.Lock()
	in := &j.input
	in.queued -= len(p.data)
	in.account()
	in.now = nil
	var fact messages.ProcessFact
	var end *pipeEnd
	switch {
	case err == nil:
	case j.phase >= exited:
		fact = refusal(messages.JobFinished, "the process exited before it took what it was given")
	case j.ladder != nil: // a killed process closes its pipe before its exit is seen
		fact = refusal(messages.JobFinished, "the job is being ended and takes no more")
	default:
		end = in.shut()
		in.say(j, false)
		fact = messages.ControlRefused{Err: messages.Error{
			Code: messages.NoInput, Reason: name(errno(err)),
			Message: "the job has closed its standard input",
		}}
	}
	j.mu.Unlock()
	end.close()
	j.answer(p.to, fact)
}
