//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"troupe/backends/keeper"
	"troupe/internal/limits"
	"troupe/internal/node"
	"troupe/messages"
	"troupe/spill"
)

// keeperRole is the first argument of this program as a keeper, the process that holds
// the jobs of a daemon.
const keeperRole = "keeper"

// version is the version of both sides of a connection.
const version = "bench"

func keep(args []string) int {
	flags := flag.NewFlagSet(keeperRole, flag.ContinueOnError)
	dir := flags.String("dir", "", "its directory")
	fd := flags.Int("fd", -1, "one end of a socket pair")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := keeper.Main(*dir, *fd, version, false, false, limits.Given{}); err != nil {
		fmt.Fprintln(os.Stderr, "bench: the keeper:", err)
		return 1
	}
	return 0
}

// keptLogs opens the outputs of a keeper.
type keptLogs struct{ keeper *keeper.Client }

func (k keptLogs) Open(id string, stream uint8) (spill.Log, error) {
	return k.keeper.Open(messages.UID(id), messages.Stream(stream))
}

func (k keptLogs) Remove(id string) error {
	k.keeper.Remove(messages.UID(id))
	return nil
}

// openKept opens a node whose jobs are in a keeper, and starts the keeper if there is
// none.
func openKept(ctx context.Context, dir string, o node.Options) (*node.Node, *keeper.Client, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	c, err := keeper.Open(ctx, keeper.ClientOptions{Dir: filepath.Join(dir, "keeper"), Build: version, Program: []string{self, keeperRole}})
	if err != nil {
		return nil, nil, err
	}
	o.Engine, o.Logs = c, keptLogs{c}
	node, err := node.Open(ctx, o)
	if err != nil {
		return nil, nil, errors.Join(err, survived(c.Close(false)))
	}
	return node, c, nil
}

func survived(left []messages.Survivor) error {
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("left alive: %v", left)
}
