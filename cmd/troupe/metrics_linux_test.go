package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// looks asks a daemon for its numbers until one line is among them.
func (p *process) looks(line string) {
	p.t.Helper()
	address := p.awaitText(`"address":"127`, `"`)
	token, err := os.ReadFile(filepath.Join(p.dir, "troupe/token"))
	require.NoError(p.t, err)
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://127"+address+"/metrics", nil)
	require.NoError(p.t, err)
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	text := ""
	for late := time.Now().Add(tooLong); !strings.Contains(text, "\n"+line+"\n") && time.Now().Before(late); { // the numbers follow the facts, one by one
		reply, err := http.DefaultClient.Do(r)
		require.NoError(p.t, err)
		text = readAll(p.t, reply.Body)
		_ = reply.Body.Close()
	}
	require.Contains(p.t, text, "\n"+line+"\n")
}

// What a daemon has counted of a job that has ended the next one does not count again
// with what the job's children write later; what ended in between is counted once.
func TestTheNextDaemonCountsTheRestAlone(t *testing.T) {
	t.Parallel()
	d := serves(t, nil, "--metrics", "127.0.0.1:0")
	open, end := gate(t, d.file("gate")), gate(t, d.file("end"))
	d.beside("run", "--on-exit", "keep", "echo hello; (read x < gate; echo late) &").start().ends(0)
	d.beside("run", "-b", "--name", "between", "echo begun; read x < end; echo hi").start().ends(0)
	d.looks(`troupe_output_bytes_total{scope="main"} 6`)
	d.send(syscall.SIGKILL)
	<-d.ended
	end()
	d = d.beside("serve", "--metrics", "127.0.0.1:0").start()
	d.err.has(t, `"message":"ready"`)
	d.beside("wait", "between").start().ends(0)
	d.looks(`troupe_output_bytes_total{scope="main"} 9`)
	d.looks(`troupe_job_ends_total{outcome="exited",scope="main"} 1`)
	open()
	d.looks(`troupe_output_bytes_total{scope="main"} 14`)
}

// The limit of subscribers is that of clients: the daemon's own numbers take none.
func TestTheNumbersAreNoSubscriber(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config.toml")
	require.NoError(t, os.WriteFile(config, []byte("[limits]\nchannels = 1\n"), 0o600))
	d := serves(t, []string{"TROUPE_CONFIG=" + config})
	d.beside("run", "-b", "exit 3").start().ends(0)
	p := d.beside("events", "-f", "--after", "0", "--ends").start()
	require.Contains(t, p.line(), "exited 3")
	p.send(syscall.SIGINT)
	<-p.ended
}

// A daemon that injects faults says so among its numbers.
func TestTheNumbersTellFaults(t *testing.T) {
	t.Parallel()
	d := serves(t, nil, "--faults", "flaky-spawn", "--metrics", "127.0.0.1:0")
	d.looks("troupe_faults 1")
}
