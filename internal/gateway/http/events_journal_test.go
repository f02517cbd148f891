package http_test

import (
	"bufio"
	"encoding/json"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/internal/api"
	"troupe/internal/gateway/http"
	"troupe/internal/journal"
	"troupe/internal/node"
	"troupe/messages"
)

// A number below the newest one is another journal's, too, if its origin says so. Readers without
// an origin, and those of this journal, get what follows their number.
func TestFaultEventsOfAReplacedJournal(t *testing.T) {
	d := start(t, nil)
	d.retired(d.run("true").ID)
	all := d.past(messages.Subscribe{})
	origin := all[0].Origin
	require.NotEmpty(t, origin)
	for _, mine := range []string{"", origin} {
		require.Equal(t, all[2:], d.past(messages.Subscribe{After: 2, Origin: mine}))
	}
	anew := append([]api.Event{{Kind: api.FactsDropped, From: 3, Origin: origin}}, all...)
	require.Equal(t, anew, d.past(messages.Subscribe{After: 2, Origin: "ANOTHER"}))
	require.Equal(t, all, d.past(messages.Subscribe{Origin: "ANOTHER"}), "nothing was received from it")
	next, stop := pull(t.Context(), d.client.Client, messages.Subscribe{After: 2, Origin: "ANOTHER"})
	defer stop()
	for _, want := range anew {
		e, err := next()
		require.NoError(t, err)
		require.Equal(t, want, e)
	}
	page, err := d.client.EventPage(t.Context(), messages.Subscribe{After: 2, Origin: "ANOTHER"}, 2)
	require.NoError(t, err)
	require.Equal(t, client.EventPage{Events: anew[:2], Next: 1, More: true, Origin: origin}, page)
}

// fullDisk is a journal whose writes of facts wait, and then fail until there is room.
type fullDisk struct {
	*journal.Memory
	mu     sync.Mutex
	waits  chan struct{} // closed when a write waits
	failed chan struct{} // closed: they fail
	room   bool
}

// Quick implements actors.NonBlocking.
func (*fullDisk) Quick() bool { return false }

// Append implements journal.Store.
func (f *fullDisk) Append(facts []messages.FactRecorded) error {
	return f.Write(journal.Batch{Facts: facts})
}

// Write implements journal.Writer.
func (f *fullDisk) Write(b journal.Batch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.room || len(b.Facts) == 0 {
		return f.Memory.Write(b)
	}
	if f.waits != nil {
		close(f.waits)
		f.waits = nil
	}
	<-f.failed
	return syscall.ENOSPC
}

func (f *fullDisk) is(room bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.room = room
}

// A poll of the past waits for facts whose write is under way. When it fails, the poll ends with
// what is recorded; later ones do so at once, and a stream goes on when there is room.
func TestFaultEventsOnAFullDisk(t *testing.T) {
	waits := make(chan struct{})
	disk := &fullDisk{Memory: journal.NewMemory(0), waits: waits, failed: make(chan struct{}), room: true}
	d := start(t, func(o *node.Options, _ *http.Options) { o.Journal = disk })
	d.retired(d.run("true").ID)
	before := d.past(messages.Subscribe{})
	last := before[len(before)-1]
	next, stop := pull(t.Context(), d.client.Client, messages.Subscribe{After: last.Seq})
	defer stop()

	disk.is(false)
	ran := make(chan error, 1)
	go func() {
		_, err := d.client.Run(t.Context(), messages.RunCommand{Mode: messages.ModeAsync, Program: messages.Program{Text: "true"}})
		ran <- err
	}()
	<-waits
	reply := d.reply("GET", "/v1/events?past=true", "") // its head says that it has begun
	defer reply.Body.Close()
	close(disk.failed)
	var end api.Event
	for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			require.NoError(t, json.Unmarshal([]byte(data), &end))
		}
	}
	require.Equal(t, api.StreamEnded, end.Kind)
	require.Equal(t, last.Seq, end.Seq)
	for range 3 {
		require.Equal(t, before, d.past(messages.Subscribe{}))
		p, err := d.client.EventPage(t.Context(), messages.Subscribe{After: last.Seq, Filter: messages.Filter{Ends: true}}, 9)
		require.NoError(t, err)
		require.Equal(t, client.EventPage{Next: last.Seq, Origin: last.Origin}, p)
	}
	_, err := d.client.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "true"}})
	coded(t, err, messages.ResourceExhausted, "journal")
	require.ErrorContains(t, err, "no space left")

	disk.is(true)
	select {
	case err := <-ran:
		require.NoError(t, err)
	case <-time.After(patience):
		t.Fatal("the job of the full disk is not answered")
	}
	e, err := next()
	require.NoError(t, err)
	require.Equal(t, last.Seq+1, e.Seq, "nothing is left out")
}
