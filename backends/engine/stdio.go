package engine

import (
	"os"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// stdio holds a job's descriptors 0, 1 and 2, and this process's ends of them.
type stdio struct {
	sys     Sys
	files   [3]uintptr
	theirs  []int // the job's ends; closed after the fork
	stdin   *pipeEnd
	term    *terminal
	streams []*stream
	flags   []messages.Flag
}

// connect makes the pipes or the terminal, and the logs, of a job. After a failure io
// holds what was made.
func (j *job) connect(spec *backends.Spec, null int) (io *stdio, fail *startError) {
	io = &stdio{sys: j.engine.opt.Sys, files: [3]uintptr{uintptr(null), uintptr(null), uintptr(null)}}
	if spec.Stdio.Terminal != (messages.Terminal{}) {
		return io, io.terminal(j, spec)
	}
	switch spec.Stdio.Stdin {
	case messages.StdinPipe:
		if err := io.input(); err != nil {
			return io, resourceMissing("pipe for the standard input", err)
		}
	case messages.StdinHost:
		io.files[0] = 0
		io.flags = append(io.flags, messages.FlagStdinShared)
	}
	if spec.Stdio.Streams == messages.SeparateStreams {
		if fail := io.output(j, spec, messages.Stdout, 1); fail != nil {
			return io, fail
		}
		return io, io.output(j, spec, messages.Stderr, 2)
	}
	return io, io.output(j, spec, messages.Merged, 1, 2)
}

// input makes the pipe of the standard input; this process's end is non-blocking.
func (io *stdio) input() error {
	r, w, err := io.sys.Pipe()
	if err != nil {
		return err
	}
	io.theirs = append(io.theirs, r)
	io.files[0] = uintptr(r)
	if err := io.sys.SetNonblock(w); err != nil {
		_ = io.sys.Close(w)
		return err
	}
	io.stdin, err = newPipeEnd(os.NewFile(uintptr(w), "stdin"))
	return err
}

// output makes the pipe and the log of one stream.
func (io *stdio) output(j *job, spec *backends.Spec, which messages.Stream, fds ...int) *startError {
	r, w, err := io.sys.Pipe()
	if err != nil {
		return resourceMissing("pipe for the output", err)
	}
	io.theirs = append(io.theirs, w)
	for _, fd := range fds {
		io.files[fd] = uintptr(w)
	}
	if err := io.sys.SetNonblock(r); err != nil {
		_ = io.sys.Close(r)
		return resourceMissing("pipe for the output", err)
	}
	return io.log(j, spec, which, r)
}

// log makes the log of one stream that is read from end.
func (io *stdio) log(j *job, spec *backends.Spec, which messages.Stream, end int) *startError {
	log, err := j.engine.opt.Store.Create(string(j.id), uint8(which), spec.Log)
	if err != nil {
		_ = io.sys.Close(end)
		return resourceMissing("log for the output", err)
	}
	s := newStream(j, which, end, log)
	s.durable = isDurable(spec)
	io.streams = append(io.streams, s)
	return nil
}

// isDurable reports whether the logs are synced.
func isDurable(spec *backends.Spec) bool {
	return spec.Log.Durability != "" && spec.Log.Durability != spill.Memory
}

// release closes the job's ends of the pipes.
func (io *stdio) release() {
	for _, fd := range io.theirs {
		_ = io.sys.Close(fd)
	}
	io.theirs = nil
}

// undo closes what was made for a job without a process. The empty logs stay, unless
// the start is retried.
func (io *stdio) undo(j *job, again bool) {
	io.release()
	io.stdin.close()
	for _, s := range io.streams {
		s.end.close()
		_ = s.log.Seal()
	}
	if again && len(io.streams) > 0 {
		_ = j.engine.opt.Store.Remove(string(j.id))
	}
}
