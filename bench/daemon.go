//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"troupe/client"
	"troupe/internal/gateway/http"
	"troupe/internal/journal"
	"troupe/internal/node"
	"troupe/messages"
)

// daemonRole is the first argument of this program as a daemon. The daemon ends with
// its jobs when its stdin does.
const daemonRole = "daemon"

const daemonReady = "ready"

// serveClients runs a daemon; args are its directory and its side.
func serveClients(args []string) int {
	if len(args) != 2 {
		return 2
	}
	if err := serveIn(args[0], side(args[1])); err != nil {
		fmt.Fprintln(os.Stderr, "bench: the daemon:", err)
		return 1
	}
	return 0
}

func serveIn(dir string, who side) (err error) {
	ctx := context.Background()
	h := &ourNode{dir: dir}
	if who == whole {
		j, err := journal.OpenBolt(filepath.Join(dir, "journal.db"), journal.BoltOptions{})
		if err != nil {
			return err
		}
		defer j.Close()
		h.node, _, err = openKept(ctx, dir, node.Options{WorkDir: dir, Socket: socketIn(dir), Journal: j})
		if err != nil {
			return err
		}
	} else if h.node, err = node.Open(ctx, node.Options{Dir: filepath.Join(dir, "out"), WorkDir: dir, Socket: socketIn(dir), OwnProcess: true}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	l, err := http.Listen(socketIn(dir))
	if err != nil {
		return err
	}
	server := http.New(http.Options{Node: http.AdaptNode(h.node), Version: version})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	fmt.Println(daemonReady)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the starter closes stdin
	over, cancel := context.WithCancel(ctx)
	cancel() // no client waits for a reply
	if err := server.Close(over); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return <-served
}

func socketIn(dir string) string { return filepath.Join(dir, "socket", "daemon.sock") }

// daemon is a daemon process and its client.
type daemon struct {
	*client.Client
	cmd *exec.Cmd
	in  io.Closer
}

// startDaemon starts a daemon and returns when it takes requests.
func startDaemon(ctx context.Context, dir string, who side) (*daemon, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	d := &daemon{cmd: exec.Command(self, daemonRole, dir, string(who))}
	d.cmd.Stderr = os.Stderr
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	if said, err := bufio.NewReader(out).ReadString('\n'); said != daemonReady+"\n" {
		return nil, errors.Join(fmt.Errorf("the daemon did not start: %w", err), d.close())
	}
	if d.Client, err = client.Dial(ctx, socketIn(dir)); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// close ends the daemon and its jobs.
func (d *daemon) close() error {
	if d.Client != nil {
		_ = d.Close()
	}
	return errors.Join(d.in.Close(), d.cmd.Wait())
}

// kill kills the daemon; its jobs are in a keeper.
func (d *daemon) kill() error {
	_ = d.Close()
	err := d.cmd.Process.Kill()
	var exit *exec.ExitError
	if werr := d.cmd.Wait(); !errors.As(werr, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		err = errors.Join(err, fmt.Errorf("the daemon was not killed: %w", werr))
	}
	return err
}

// run runs a command to its end, which must be a success.
func (d *daemon) run(ctx context.Context, r messages.RunCommand) (messages.Record, error) {
	result, err := d.Run(ctx, r)
	return succeeded(result.Job, err)
}
