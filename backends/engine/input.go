package engine

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// pipeEnd is the write end of a job's standard input. A nil one is none.
type pipeEnd struct {
	file *os.File
	conn syscall.RawConn
}

func newPipeEnd(f *os.File) (*pipeEnd, error) {
	conn, err := f.SyscallConn()
	return &pipeEnd{f, conn}, err
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
	queue   []piece
	queued  int // bytes admitted and not yet written
	through int64
	feeding bool
	closing *answer // CloseInput, behind the queue
}

// piece is one Input.
type piece struct {
	data []byte
	to   *answer
}

// admit reports why n more bytes cannot be taken, or counts them.
func (in *input) admit(n int) messages.ProcessFact {
	switch {
	case !in.wanted:
		return refusal(messages.NoInput, "the job has no standard input; start it with stdin pipe")
	case in.closed || in.closing != nil:
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

// feed queues bytes, and sees to it that somebody writes them.
func (j *job) feed(data []byte, to *answer) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.input.queue = append(j.input.queue, piece{data, to})
	j.startFeeding()
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
		j.answer(to, done())
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
			}
			j.mu.Unlock()
			end.close()
			if to != nil {
				j.answer(to, done())
			}
			return
		}
		p, end := in.queue[0], in.end
		in.queue = in.queue[1:]
		j.mu.Unlock()
		j.wrote(p, j.writePiece(end, p.data))
	}
}

// writePiece writes all of data, waiting in the netpoller for room.
func (j *job) writePiece(end *pipeEnd, data []byte) error {
	if end == nil {
		return os.ErrClosed
	}
	var failed error
	err := end.conn.Write(func(fd uintptr) bool {
		for len(data) > 0 {
			n, err := j.e.opt.Sys.Write(int(fd), data)
			switch {
			case err == unix.EAGAIN:
				return false
			case err != nil:
				failed = err
				return true
			}
			data = data[n:]
		}
		return true
	})
	return errors.Join(err, failed)
}

// wrote answers an Input. After a failure the pipe is of no use any more.
func (j *job) wrote(p piece, err error) {
	j.mu.Lock()
	in := &j.input
	in.queued -= len(p.data)
	var fact messages.ProcessFact
	var end *pipeEnd
	switch {
	case err == nil:
		in.through += int64(len(p.data))
		fact = messages.InputWritten{Through: in.through}
	case j.phase >= exited:
		fact = refusal(messages.JobFinished, "the process exited before it took what it was given")
	default:
		end = in.shut()
		fact = messages.ControlRefused{Err: messages.Error{
			Code: messages.NoInput, Reason: name(errno(err)),
			Message: "the job has closed its standard input",
		}}
	}
	j.mu.Unlock()
	end.close()
	j.answer(p.to, fact)
}
