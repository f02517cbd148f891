package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/messages"
)

// floodMemory bounds the growth of a daemon by a thousand notices that are not delivered;
// most of it is the records of the jobs.
const floodMemory = 48 << 10 // KiB

// A thousand notices for a URL that hangs do not delay another URL or grow the daemon.
// The daemon makes one request at a time to the URL that hangs.
func TestFloodOnFinish(t *testing.T) {
	t.Parallel()
	const n = 1000
	hold := make(chan struct{})
	var mu sync.Mutex
	at, most := 0, 0
	hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		at++
		most = max(most, at)
		mu.Unlock()
		select {
		case <-hold:
		case <-r.Context().Done():
		}
		mu.Lock()
		at--
		mu.Unlock()
	})
	defer close(hold)
	hangs := receives(t, nil, func(r *receiver) { r.Config.Handler = hang })
	lives := receives(t, nil)
	d := serves(t, nil)
	c, err := client.Dial(t.Context(), d.socket())
	require.NoError(t, err)
	defer c.Close()
	before := resident(t, d.Process.Pid)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range (n + 15) / 16 {
				_, err := c.Run(context.Background(), messages.RunCommand{Program: messages.Program{Argv: []string{"true"}}, OnFinish: []string{hangs.URL, lives.URL}})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	ids := map[string]bool{}
	for range (n + 15) / 16 * 16 {
		<-lives.came
	}
	for _, g := range lives.all() {
		ids[g.id] = true
	}
	require.GreaterOrEqual(t, len(ids), n)
	grown := resident(t, d.Process.Pid) - before
	mu.Lock()
	defer mu.Unlock()
	t.Logf("%d ends: the daemon has grown by %d KiB; %d requests at a time hang", n, grown, most)
	require.Less(t, grown, floodMemory)
	require.LessOrEqual(t, most, 2) // one, and one that was given up, which a busy receiver notices later
	record := d.record("j1000")
	states := fmt.Sprint(record["on_finish"])
	require.Contains(t, states, "state:pending")
}

// resident is the memory of a process, in KiB.
func resident(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, value, _ := strings.Cut(string(text), "VmRSS:")
	value, _, _ = strings.Cut(strings.TrimSpace(value), " ")
	kib, err := strconv.Atoi(value)
	require.NoError(t, err)
	return kib
}
