package inject

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"troupe/faults"
	"troupe/messages"
)

// identity is what rules select jobs by.
type identity struct {
	id      messages.JobID
	scope   messages.ScopePath
	name    string
	command string
}

func identityOf(job messages.Record) identity {
	return identity{id: job.ID, scope: job.Scope, name: job.Name, command: job.Command}
}

func (i identity) event(p faults.Point, output []byte) faults.Event {
	return faults.Event{Point: p, Job: i.id, Scope: i.scope, Name: i.name, Command: i.command, Output: output}
}

// Injector asks the plan of a daemon what happens at an event. It is safe for concurrent use.
type Injector struct {
	mu      sync.Mutex
	rules   *faults.Injector
	state   *state
	held    map[messages.UID]identity                    // jobs of the former daemon
	live    map[messages.UID]*process                    // for signals
	signals map[faults.Target]func(messages.UID, string) // by target: sends a signal
	pending chan faults.Fault                            // faults to be reported
	watch   chan *process                                // jobs whose output a rule waits for
}

// maxPending bounds the faults that wait to be reported to their jobs. The list of faults has all.
const maxPending = 4096

// New returns an Injector for a plan, which goes on where the former daemon of the state
// directory ended. Run tells the jobs.
func New(p faults.Plan, dir string) (*Injector, error) {
	i := &Injector{
		watch: make(chan *process, maxPending), rules: faults.New(p), pending: make(chan faults.Fault, maxPending), held: map[messages.UID]identity{}, live: map[messages.UID]*process{},
		signals: map[faults.Target]func(messages.UID, string){},
	}
	i.signals[faults.Child] = i.toJob
	i.signals[faults.Holder] = i.toShell
	i.signals[faults.Daemon] = func(_ messages.UID, name string) { _ = unix.Kill(os.Getpid(), unix.SignalNum("SIG"+name)) }
	var err error
	i.state, err = openState(dir, i.rules)
	return i, err
}

// at returns the faults of an event, after they are listed. Those that are signals are under way.
func (i *Injector) at(p faults.Point, uid messages.UID, of identity, output ...byte) []faults.Fault {
	i.mu.Lock()
	defer i.mu.Unlock()
	due := i.rules.On(of.event(p, output))
	rest := due[:0:0]
	for _, f := range due {
		i.state.add(f, i.rules)
		select {
		case i.pending <- f:
		default: // the list has it
		}
		if f.Do == faults.Kill || f.Do == faults.Freeze {
			time.AfterFunc(f.After, func() { i.signal(uid, f) })
			continue
		}
		rest = append(rest, f)
	}
	return rest
}

// signal kills or freezes the target of a fault.
func (i *Injector) signal(uid messages.UID, f faults.Fault) {
	i.mu.Lock()
	send := i.signals[f.Target]
	i.mu.Unlock()
	if send == nil {
		return
	}
	if f.Do == faults.Kill {
		send(uid, f.Signal)
		return
	}
	send(uid, "STOP")
	time.AfterFunc(f.For, func() { send(uid, "CONT") })
}

// toJob signals the main process of a job.
func (i *Injector) toJob(uid messages.UID, name string) {
	i.mu.Lock()
	p := i.live[uid]
	i.mu.Unlock()
	if p != nil {
		p.signal(name)
	}
}

// toShell signals the live shell that a job runs in.
func (i *Injector) toShell(uid messages.UID, name string) {
	i.mu.Lock()
	p := i.live[uid]
	i.mu.Unlock()
	if p != nil && p.shell != "" {
		i.toJob(p.shell, name)
	}
}

// ended forgets a process: it gets no signal any more.
func (i *Injector) ended(p *process) {
	p.once.Do(func() { close(p.begun) })
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.live, p.uid)
	delete(i.held, p.uid)
}
