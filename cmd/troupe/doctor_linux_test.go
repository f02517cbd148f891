package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli/config"
)

// Where nothing can be recorded nothing is started. Doctor says so, whether a daemon
// runs there or is to begin.
func TestDoctorSeesThatNothingCanBeStarted(t *testing.T) {
	t.Parallel()
	state := mounted(t, 24<<20)
	t.Cleanup(func() { endKeeper(state) })
	d := serves(t, []string{"TROUPE_STATE=" + state})
	doctor := func(status int, says ...string) {
		t.Helper()
		p := d.beside("doctor").start()
		text := p.rest()
		p.ends(status)
		for _, s := range says {
			require.Regexp(t, s, text)
		}
	}
	doctor(0, `\n  ok +state of the daemon +`+state+` \(0700, uid \d+, [\d.]+ MiB, \d+ files free\)\n`)
	full := filepath.Join(state, "full")
	fill(t, full)
	doctor(1, `state of the daemon .* 0 B, `, `problem: the daemon cannot start jobs: cannot write the directory `+state+`: .*no space left on device \(free disk space`)
	require.NoError(t, os.Remove(full))

	d.Env = append(d.Env, "TROUPE_STATE="+d.file("other")) // it is the daemon's that counts
	doctor(0, `\n  state +`+state+`\n`, `keeper +holds the jobs, at `+state)
}

// Where there is room and no file can be made, commands still start: doctor says what
// does not work.
func TestDoctorSeesThatNoFileCanBeMade(t *testing.T) {
	t.Parallel()
	state := mounted(t, 24<<20, "nr_inodes=40")
	t.Cleanup(func() { endKeeper(state) })
	d := serves(t, []string{"TROUPE_STATE=" + state})
	made := []string{}
	for {
		name := filepath.Join(state, fmt.Sprint("file", len(made)))
		if os.WriteFile(name, nil, 0o600) != nil {
			break
		}
		made = append(made, name)
	}
	p := d.beside("run", "echo runs").start()
	require.Equal(t, "runs\n", p.rest())
	p.ends(0)
	p = d.beside("doctor").start()
	text := p.rest()
	p.ends(1)
	require.Contains(t, text, "problem: the daemon cannot create files: a command waits")
	require.Contains(t, text, ", 0 files free)")
	for _, name := range made {
		require.NoError(t, os.Remove(name))
	}
	p = d.beside("doctor").start()
	p.rest()
	p.ends(0)
}

// A state directory that is taken away while a daemon runs is missed.
func TestDoctorMissesTheStateDirectory(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	state := d.file("troupe")
	require.NoError(t, os.Rename(state, d.file("elsewhere")))
	defer eventually(t, "the state directory is back", func() bool { // the daemon may have made its socket there anew
		return os.RemoveAll(state) == nil && os.Rename(d.file("elsewhere"), state) == nil
	})
	p := d.beside("doctor").start()
	require.Contains(t, p.rest(), "\nproblem: the daemon cannot start jobs: "+state+": it was removed (restore its contents, or stop the daemon")
	p.ends(1)
}

// A daemon whose socket was removed is found all the same. One without any, as that of an
// older build, is named by the lock of its state; doctor finds nothing wrong when it has gone.
func TestDoctorFindsTheDaemonWithoutASocket(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	require.NoError(t, os.Remove(d.awaitText(`"address":"`, `"`)))
	p := d.beside("doctor").start()
	require.Contains(t, p.rest(), fmt.Sprintf("process %d\n", d.Process.Pid))
	p.ends(0)
	stops(t, d.Process.Pid) // else it makes them anew
	require.NoError(t, errors.Join(os.RemoveAll(d.socket()), os.Remove(d.file("troupe/"+config.SocketName))))
	p = d.beside("doctor").start()
	require.Contains(t, p.rest(), fmt.Sprintf("\nproblem: a daemon cannot start: another daemon, process %d, has locked the state directory %s (", d.Process.Pid, d.file("troupe")))
	p.ends(1)
	d.send(syscall.SIGCONT)
	d.send(syscall.SIGTERM)
	d.ends(0)
	p = d.beside("doctor").start()
	require.Contains(t, p.rest(), "daemon         not running")
	p.ends(0)
	d.beside("serve").start().err.has(t, `"message":"ready"`) // whose end takes the keeper along
}

// A keeper that is to begin needs room for its journal.
func TestDoctorAsksForTheRoomOfAKeeper(t *testing.T) {
	t.Parallel()
	p := program(t, "doctor")
	p.Env = append(p.Env, "TROUPE_STATE="+mounted(t, 4<<20))
	p.start()
	require.Regexp(t, `\nproblem: the daemon cannot start jobs: \S+ has [\d.]+ MiB free, and the journal of the keeper needs 8.0 MiB \(free disk space\)\n`, p.rest())
	p.ends(1)
}
