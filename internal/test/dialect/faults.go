package dialecttest

import (
	"context"
	"reflect"
	"sync"

	"troupe/internal/dialect"
	"troupe/messages"
)

// Faults is a host that fails as a test asks. It is safe for concurrent use.
type Faults struct {
	dialect.Host
	mu   sync.Mutex
	next map[string][]error
	met  map[string]int
	held map[string]*Held
}

// Held is the next call of a method, held until the test releases it.
type Held struct {
	Met  chan struct{} // closed when the call has arrived
	Goes chan struct{} // the test closes it to release the call; the call's context does so too
	late bool
}

// Faulty wraps a working host.
func Faulty(h dialect.Host) *Faults {
	return &Faults{Host: h, next: map[string][]error{}, met: map[string]int{}, held: map[string]*Held{}}
}

// Fail makes the next calls of a method fail, each with its error.
func (f *Faults) Fail(method string, errs ...error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next[method] = append(f.next[method], errs...)
}

// Met returns how many calls of a method have failed.
func (f *Faults) Met(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.met[method]
}

// Hold holds the next call of a method before it reaches the host.
func (f *Faults) Hold(method string) *Held {
	h := &Held{Met: make(chan struct{}), Goes: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held[method] = h
	return h
}

// HoldLate holds the next call even after its context has ended.
func (f *Faults) HoldLate(method string) *Held {
	h := f.Hold(method)
	h.late = true
	return h
}

func (f *Faults) fault(ctx context.Context, method string) error {
	f.mu.Lock()
	held := f.held[method]
	delete(f.held, method)
	f.mu.Unlock()
	if held != nil {
		close(held.Met)
		done := ctx.Done()
		if held.late {
			done = nil
		}
		select {
		case <-held.Goes:
		case <-done:
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.next[method]) == 0 {
		return nil
	}
	err := f.next[method][0]
	f.next[method] = f.next[method][1:]
	f.met[method]++
	return err
}

// Run implements dialect.Host.
func (f *Faults) Run(ctx context.Context, r messages.RunCommand, most int, known func(messages.JobID)) (messages.Record, dialect.Text, error) {
	if err := f.fault(ctx, "Run"); err != nil {
		return messages.Record{}, dialect.Text{}, err
	}
	return f.Host.Run(ctx, r, most, known)
}

// Do implements dialect.Host.
func (f *Faults) Do(ctx context.Context, r messages.Refusable) (any, error) {
	method := map[reflect.Type]string{
		reflect.TypeFor[messages.FindJob](): "Job", reflect.TypeFor[messages.WaitJobs](): "Await",
		reflect.TypeFor[messages.StopCommand](): "Stop", reflect.TypeFor[messages.CloseSession](): "CloseSession",
	}[reflect.TypeOf(r)]
	if err := f.fault(ctx, method); err != nil {
		return nil, err
	}
	return f.Host.Do(ctx, r)
}

// Bytes implements dialect.Host.
func (f *Faults) Bytes(ctx context.Context, id messages.JobID, stream messages.Stream, from int64, most int, wait bool) (dialect.Bytes, error) {
	if err := f.fault(ctx, "Bytes"); err != nil {
		return dialect.Bytes{}, err
	}
	return f.Host.Bytes(ctx, id, stream, from, most, wait)
}

// Busy is the error of an overloaded host.
var Busy = &messages.Error{Code: messages.Busy, Message: "the host is overloaded"}
