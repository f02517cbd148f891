package keeper

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// An output in memory ends with its keeper, except for a client that has a descriptor of it.
// The client passes that to the next keeper before it adopts the job. So the facts of a dead
// keeper's job get their sizes when they are sent.

// lostHint is the hint in the error of a lost job.
const lostHint = "the record shows what is stored of its output"

// saveLogs passes the descriptors of the job's logs to a new keeper. It returns the sizes of
// these logs, and whether a log is missing. The caller holds mu.
func (j *job) saveLogs() (sizes messages.Sizes, missing bool) {
	for _, stream := range streamsOf(j.separate) {
		o := j.logs[stream]
		if o == nil {
			missing = true
			continue
		}
		m, size, err := o.saved()
		if err != nil {
			j.c.fault(err)
		}
		if missing = missing || m.file == nil; m.file != nil {
			sizes[stream] = size
			j.c.send(m)
		}
	}
	return sizes, missing
}

// saved returns the message that passes the log on; without a file: this side has no
// descriptor of it.
func (o *remoteLog) saved() (m message, size int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil {
		return m, 0, nil
	}
	fd := -1
	err = withFd(o.file, func(of int) error {
		fd, err = unix.FcntlInt(uintptr(of), unix.F_DUPFD_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return m, 0, fmt.Errorf("the output of the job %s is lost with the keeper: %w", o.id, err)
	}
	m = message{kind: askSave, job: o.id, file: os.NewFile(uintptr(fd), "log"), body: encode(savedLog{Stream: o.stream, State: o.state})}
	if st, err := m.file.Stat(); err == nil {
		size = o.state.Base + st.Size()
	}
	return m, max(size, o.state.Size), nil
}

// forgetLost forgets the states of a lost job's logs of which nothing is stored: a size without
// bytes would look like an output. The caller holds mu.
func (j *job) forgetLost(sizes messages.Sizes) {
	for _, stream := range streamsOf(j.separate) {
		if o := j.logs[stream]; o != nil && sizes[stream] == 0 {
			o.forget()
		}
	}
}

// forget forgets the state of a log that is gone.
func (o *remoteLog) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil && !o.hasAll {
		o.state, o.known = spill.State{}, false
	}
}

// streamsOf returns the streams of a job.
func streamsOf(separate bool) []messages.Stream {
	if separate {
		return []messages.Stream{messages.Stdout, messages.Stderr}
	}
	return []messages.Stream{messages.Merged}
}

// save stores a log that the dead keeper had in memory, unless its file is there.
func (s *server) save(m message) error {
	if m.file == nil {
		return malformed("a log without its descriptor")
	}
	defer m.file.Close()
	w, err := decode[savedLog](m.body)
	if err != nil {
		return err
	}
	if s.options.Alone { // its log has a name, which the user has removed
		return nil
	}
	err = s.store.Import(string(m.job), uint8(w.Stream), m.file, w.State)
	if errors.Is(err, spill.ErrExists) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the output of the job %s is lost with its keeper: %w", m.job, err)
	}
	select {
	case s.settled <- m.job: // to become a file
	default: // the log stays in memory until the job is settled
	}
	return nil
}

// withOutput completes a fact of a job that a dead keeper left with what is stored of its
// output.
func (s *server) withOutput(id messages.UID, p *journaledJob, f messages.ProcessFact) messages.ProcessFact {
	switch f := f.(type) {
	case messages.ProcessLost:
		f.Sizes, f.Outputs, f.Flags = s.outputs(id, p, f.Flags)
		return f
	case messages.ProcessExited:
		f.Sizes, f.Outputs, f.Flags = s.outputs(id, p, f.Flags)
		return f
	case messages.OutputClosed:
		f.Sizes, f.Outputs, _ = s.outputs(id, p, nil)
		return f
	}
	return f
}

// outputs returns the sizes of a job's logs, what is known of them, and the flags of the job.
// A log that is not stored is a gap of its recorded size.
func (s *server) outputs(id messages.UID, p *journaledJob, flags []messages.Flag) (sizes messages.Sizes, list []messages.OutputState, _ []messages.Flag) {
	if p.drained != nil {
		sizes = p.drained.Sizes
	}
	lost := false
	for _, stream := range streamsOf(p.started.Separate) {
		log, err := s.store.Open(string(id), uint8(stream))
		switch {
		case err == nil:
			st := log.State()
			_ = log.Close()
			sizes[stream], list = max(sizes[stream], st.Size), backends.AddOutput(list, stream, st)
		case p.drained == nil:
			lost = true
		case sizes[stream] > 0:
			lost = true
			list = append(list, messages.OutputState{Stream: stream, Elided: []messages.OutputGap{{To: sizes[stream]}}})
		}
	}
	if lost {
		flags = append(slices.Clip(flags), messages.FlagOutputLost)
	}
	return sizes, list, flags
}
