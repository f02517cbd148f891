package node

import (
	"sync"

	"troupe/messages"
	"troupe/spill/view"
)

// maxFullScreens bounds the jobs of fullScreens.
const maxFullScreens = 256

// fullScreens remembers which terminals show the alternate screen, so that a record does not
// need a search of the whole output. The zero value is ready.
type fullScreens struct {
	mu sync.Mutex
	of map[messages.UID]fullScreen
}

// fullScreen is the state of a terminal after the first bytes of its output.
type fullScreen struct {
	bytes int64
	on    bool
}

// onScreen sets in a record whether the job's terminal shows the alternate screen.
func (n *Node) onScreen(job messages.Record) messages.Record {
	if job.Terminal == (messages.Terminal{}) || len(job.Output) != 1 || job.Output[0].Bytes == 0 {
		return job
	}
	log, err := n.logs.Open(string(job.UID), uint8(job.Output[0].Stream))
	if err != nil { // the log was removed
		return job
	}
	defer func() { _ = log.Close() }()
	size := log.State().Size
	was := n.full.known(job.UID, size)
	on, err := view.AlternateAt(log, was.bytes, size, was.on)
	if err != nil {
		return job
	}
	n.full.set(job.UID, fullScreen{size, on})
	job.FullScreen = on
	return job
}

// known returns what is known of the first bytes of an output, at most size.
func (f *fullScreens) known(job messages.UID, size int64) fullScreen {
	f.mu.Lock()
	defer f.mu.Unlock()
	if was := f.of[job]; was.bytes <= size {
		return was
	}
	return fullScreen{} // another process has truncated the file
}

// set remembers the state of a terminal.
func (f *fullScreens) set(job messages.UID, now fullScreen) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil || len(f.of) >= maxFullScreens {
		f.of = map[messages.UID]fullScreen{}
	}
	f.of[job] = now
}
