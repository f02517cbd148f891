package rpcserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/daemon"
	"troupe/internal/cli/dialectconfig"
	"troupe/internal/cli/dialecthost"
	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// Flags holds the flags of rpc.
type Flags struct {
	Dialect, Listen string
	Mode            string // "rpc" or "": hosts of pi and omp add --mode rpc
	NoDaemon        bool
}

// codeliaName is the value of --dialect for codelia.
const codeliaName = "codelia"

// dialects maps the values of --dialect to their protocols.
func dialects() map[string]protocol {
	return map[string]protocol{codeliaName: codelia, "omp": omp, "pi": pi}
}

// DialectNames lists the values of --dialect.
var DialectNames = []string{codeliaName, "omp", "pi"}

// protocol answers the requests of one client until its input or ctx ends. At the end of the
// input it answers the requests that run.
type protocol func(ctx context.Context, c *client, in io.Reader, out io.Writer) error

// server is what all clients share.
type server struct {
	speak   protocol
	host    *dialecthost.Host
	scope   messages.ScopePath // parent of the clients' scopes
	dir     string             // working directory of troupe rpc
	env     []string           // environment of troupe rpc
	at      *config.Settings
	files   dialecthost.SessionFiles
	version string
	log     *slog.Logger

	noDaemon bool // jobs run in this process
}

// Serve serves until its client leaves or a signal arrives.
func Serve(m *cli.Main, f *Flags) error {
	speak, known := dialects()[f.Dialect]
	if !known {
		return messages.Invalid("dialect", fmt.Sprintf("invalid dialect %q: give --dialect with one of %s", f.Dialect, strings.Join(DialectNames, ", ")))
	}
	if f.Mode != "" && f.Mode != "rpc" {
		return messages.Invalid("mode", "invalid mode "+f.Mode+": use rpc, or leave it out")
	}
	signals := cli.Listen()
	defer signals.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-signals.Incoming:
			cancel()
		case <-ctx.Done():
		}
	}()
	at, err := config.Read(m)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return &messages.Error{Code: messages.CwdNotFound, Message: "the current directory cannot be found: " + err.Error(), Hint: "start it in one that exists"}
	}
	if err := dialectconfig.Check(m, settingsOf(f.Dialect), at, dir); err != nil {
		return err
	}
	log := daemon.Slogger(daemon.NewLog(m, at))
	m.Env = dialecthost.WithUserPath(ctx, m.Env, at, log)
	if !f.NoDaemon {
		if f.NoDaemon, err = dialecthost.WithoutDaemon(m, at); err != nil {
			return err
		}
	}
	host, done, err := dialecthost.Open(m, at, f.NoDaemon)
	if err != nil {
		return err
	}
	defer done()
	s := &server{
		speak: speak, host: host, scope: dialecthost.Scope(m, "rpc"), dir: dir, env: slices.Clone(m.Env), at: at,
		files: dialecthost.NewSessionFiles(at, "rpc-", log), version: m.Describe().Version, log: log, noDaemon: f.NoDaemon,
	}
	return s.run(ctx, m, f)
}

// run serves one client, or those of a socket.
func (s *server) run(ctx context.Context, m *cli.Main, f *Flags) error {
	var beside sync.WaitGroup
	defer beside.Wait()
	if f.Dialect == codeliaName {
		beside.Go(func() { s.endOrphans(ctx) })
	}
	if f.Listen != "" {
		return s.listen(ctx, f.Listen, func(path string) {
			terminal.NewPrinter(m).Notef("serving %s at %s", f.Dialect, path)
		})
	}
	reads, free := out.WithStdoutReader(ctx, m)
	defer free()
	err := s.serve(reads, m.In, m.Out)
	if errors.Is(err, context.Canceled) || errors.Is(err, out.ErrSIGPIPE) || errors.Is(err, unix.EPIPE) {
		return nil // ended by a signal, or by the end of the client
	}
	return err
}

// settingsOf returns the dialect whose settings a protocol uses: pi has those of omp, whose
// commands it runs.
func settingsOf(name string) string {
	if name == "pi" {
		return "omp"
	}
	return name
}
