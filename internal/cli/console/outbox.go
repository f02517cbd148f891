package console

import (
	"fmt"
	"time"

	"troupe/internal/dialect/codelia"
)

// mostWaiting bounds the messages that wait while one is sent.
const mostWaiting = 8

// outbox holds the results for the next message, the message that is being sent, and those that
// wait for it.
type outbox struct {
	queue   codelia.Queue
	active  *letter
	waiting []*letter
}

// letter holds a message with the results that were queued when it was submitted.
type letter struct {
	message  codelia.Message
	text     string
	waited   bool // it was submitted while another one was sent
	failures int
}

// submit takes a message. It reports whether it is to be sent now; otherwise it waits.
func (o *outbox) submit(text string) (now bool, err error) {
	l := &letter{text: text}
	if o.active == nil {
		l.message, o.active = o.queue.Hold(text), l
		return true, nil
	}
	if len(o.waiting) >= mostWaiting {
		return false, fmt.Errorf(textWaitsFull, mostWaiting)
	}
	l.message, l.waited = o.queue.Hold(text), true
	o.waiting = append(o.waiting, l)
	return false, nil
}

// sent takes the end of sending the active message. after > 0: send it again after that time.
// done is the message if it was sent, back the one that will not be sent: its results wait for
// the next message. If another message is active then, it is to be sent.
func (o *outbox) sent(err error) (after time.Duration, done, back *letter) {
	l := o.active
	if err == nil {
		o.next()
		return 0, l, nil
	}
	if l.failures++; l.waited {
		if after, again := codelia.Retry(l.failures); again {
			return after, nil, nil
		}
	}
	o.queue.Return(l.message)
	o.next()
	return 0, nil, l
}

// next makes the first waiting message the active one.
func (o *outbox) next() {
	o.active = nil
	if len(o.waiting) > 0 {
		o.active, o.waiting = o.waiting[0], o.waiting[1:]
	}
}

// unsent returns how many results and messages would be lost if the console ended now.
func (o *outbox) unsent() (results, letters int) {
	letters = len(o.waiting)
	if o.active != nil {
		letters++
	}
	return o.queue.Len(), letters
}

// counted counts results in words.
func counted(n int) string {
	if n == 1 {
		return "1 result"
	}
	return fmt.Sprintf("%d results", n)
}
