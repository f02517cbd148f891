package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/internal/gateway/http"
	"troupe/internal/gateway/http/peer"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// Settings holds the settings of the daemon and of its clients. Later sources override
// earlier ones: defaults, configuration file, environment, flags of a verb.
type Settings struct {
	Socket        string                   `toml:"socket"`
	State         string                   `toml:"state"`
	HTTP          string                   `toml:"http"`    // loopback address; "": no port
	Metrics       string                   `toml:"metrics"` // likewise
	Log           logLevel                 `toml:"log"`
	Limits        limitSettings            `toml:"limits"`
	Storage       StorageSettings          `toml:"storage"`
	Shells        map[string][]string      `toml:"shells"`
	Prefix        string                   `toml:"prefix"` // begins every command text; "": none
	Shell         string                   `toml:"shell"`  // shell of run -s; "": the user's, or bash
	Sessions      sessionSettings          `toml:"sessions"`
	Queues        map[string]queueSettings `toml:"queues"`         // in which jobs wait (run --queue)
	Snapshot      bool                     `toml:"snapshot"`       // live shells source a snapshot of the user's setup
	Faults        string                   `toml:"faults"`         // file of a plan of faults that happen to the jobs of the daemon; "": none
	AllowConfined bool                     `toml:"allow_confined"` // clients in a sandbox may use a daemon outside of it
	NoDaemon      bool                     `toml:"no_daemon"`      // run and mcp use no daemon unless their flags need one
	IdleExit      Duration                 `toml:"idle_exit"`      // how long a daemon that a client has started holds nothing before it ends; 0: it stays
	Notify        notifySettings           `toml:"notify"`
	MCP           MCPSettings              `toml:"mcp"`
	OMP           OMPSettings              `toml:"omp"`
	OpenCode      OpenCodeSettings         `toml:"opencode"`
	Copilot       CopilotSettings          `toml:"copilot"`
	Codelia       CodeliaSettings          `toml:"codelia"`

	file  string // path of the configuration file; "": none
	text  string // contents of file
	usual string // default of Socket

	stateErr error // why State is ""; else nil
}

// limitSettings bounds the work and the clients of the daemon; 0 means the default.
type limitSettings struct {
	Starts          configCount `toml:"starts"`
	Unstarted       configCount `toml:"unstarted"`
	Parallel        configCount `toml:"parallel"`
	Finished        configCount `toml:"finished"`
	Channels        configCount `toml:"channels"`
	Watches         configCount `toml:"watches"`
	Shells          configCount `toml:"shells"`
	ShellIdle       Duration    `toml:"shell_idle"`
	Connections     configCount `toml:"connections"`      // to the socket
	HTTPConnections configCount `toml:"http_connections"` // to a loopback address, with the token
	HTTPRequests    configCount `toml:"http_requests"`    // over TCP, a second
}

// queueSettings configures a queue of jobs.
type queueSettings struct {
	Parallel configCount `toml:"parallel"` // jobs of it that run at a time; 0: 1
}

// QueuePlaces returns how many jobs of each queue run at a time.
func (s *Settings) QueuePlaces() map[string]int {
	all := map[string]int{}
	for name, q := range s.Queues {
		all[name] = max(int(q.Parallel), 1)
	}
	return all
}

// sessionSettings configures live shells.
type sessionSettings struct {
	Errexit string `toml:"errexit"` // what a failure under set -e ends: "exit" or "", the shell; "keep", the command
}

// KeepErrexit reports whether a failure under set -e ends the command alone.
func (s *Settings) KeepErrexit() bool { return s.Sessions.Errexit == "keep" }

// StorageSettings bounds the storage of outputs.
type StorageSettings struct {
	Memory   configSize  `toml:"memory"`
	Finished configCount `toml:"finished"`
	Sealed   configSize  `toml:"sealed"`
	Stored   configSize  `toml:"stored"`
}

// notifySettings configures the notices to URLs.
type notifySettings struct {
	SecretFile string `toml:"secret_file"` // key that signs notices; "": a file in the state directory
}

// MCPSettings bounds each client of troupe mcp; 0 means the default.
type MCPSettings struct {
	Jobs     configCount `toml:"jobs"`     // live jobs
	Sessions configCount `toml:"sessions"` // live shells and other sessions
	Output   configSize  `toml:"output"`   // output of one job, in bytes
	Shown    configSize  `toml:"shown"`    // output in a result of the core tools, in bytes
	Env      []string    `toml:"env"`      // variables of troupe mcp that jobs get beyond the allow-list
}

// idleExit is the default of idle_exit.
const idleExit = 10 * time.Minute

// MaxFile bounds a configuration file, in bytes.
const MaxFile = 1 << 20

// File returns the path of the configuration file; "" if there is none.
func (s *Settings) File() string { return s.file }

// Text returns the contents of the configuration file.
func (s *Settings) Text() string { return s.text }

// Named reports whether the socket is not the default one.
func (s *Settings) Named() bool { return s.Socket != s.usual }

// Read reads the settings. A file that FileVar names must exist.
func Read(m *cli.Main) (*Settings, error) {
	s := &Settings{Log: logLevel{zerolog.InfoLevel}, Snapshot: true, IdleExit: Duration{idleExit}}
	if err := s.read(m); err != nil {
		return nil, err
	}
	s.usual = defaultSocket(m)
	s.Socket = cmp.Or(s.Socket, s.usual)
	if path, ok := m.Getenv(SocketVar); ok && path != "" {
		s.Socket = path
	}
	if path, ok := m.Getenv(StateVar); ok && path != "" {
		s.State = path
	}
	if value, ok := m.Getenv(NoDaemonVar); ok && value != "" {
		alone, err := strconv.ParseBool(value)
		if err != nil {
			return nil, messages.Invalid("no_daemon", fmt.Sprintf("%s is %q; set it to 1 or 0", NoDaemonVar, value))
		}
		s.NoDaemon = alone
	}
	if s.State == "" {
		s.State, s.stateErr = defaultState(m)
	}
	var err error
	if s.Socket, err = FullPath("socket", s.Socket); err != nil {
		return nil, err
	}
	if s.State != "" {
		s.State, err = FullPath("state", s.State)
	}
	return s, err
}

// OwnState creates the state directory. It fails if there is no place for it, or if it
// cannot be written.
func (s *Settings) OwnState() error {
	if s.State == "" {
		return s.stateErr
	}
	if err := OwnDirectory(s.State); err != nil {
		return err
	}
	return writable(s.State)
}

// HasPlaces tests whether a new daemon could use or create its directories, and removes its
// test files.
func (s *Settings) HasPlaces() error {
	var err error
	if dir := filepath.Dir(s.Socket); !Exists(dir) {
		err = makeable(dir, SocketVar)
	} else if err = http.CheckSocketPath(s.Socket); err == nil {
		err = CannotWrite(dir, Probe(dir))
	}
	if err != nil && (s.Named() || peer.CheckPath(s.StateSocket()) != nil) {
		return err
	}
	if s.State != "" && !Exists(s.State) {
		return makeable(s.State, StateVar)
	}
	return s.OwnState()
}

// StateSocket returns the path of the socket in the state directory, at which clients
// find the daemon without the other; "" without a state directory.
func (s *Settings) StateSocket() string {
	if s.State == "" {
		return ""
	}
	return filepath.Join(s.State, SocketName)
}

// FullPath returns the absolute path for the current directory. name is the setting, for the
// error.
func FullPath(name, path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", messages.Invalid(name, fmt.Sprintf("the %s %q is relative, and the current directory cannot be found; give an absolute path", name, path))
	}
	return full, nil
}

func (s *Settings) read(m *cli.Main) error {
	path, named := m.Getenv(FileVar)
	if named = named && path != ""; !named {
		var err error
		if path, err = defaultConfig(m); err != nil {
			return nil //nolint:nilerr // without a home directory there is no file
		}
	}
	text, err := ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil
	}
	var coded *messages.Error
	switch {
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return &messages.Error{
			Code: messages.ResourceExhausted, Reason: "descriptors", Message: "the configuration " + path + " cannot be read: " + err.Error(),
			Hint: "raise the limit of open files (ulimit -n) of this process",
		}
	case err != nil && !errors.As(err, &coded):
		coded = configError(path, 0, "cannot be read: "+err.Error())
		coded.Hint = "set " + FileVar + " to a file that exists and is readable, or unset it"
		if !named { // for example after su, with the HOME of root
			coded.Hint = "set HOME or XDG_CONFIG_HOME to a directory of yours: after su or in a container it may be another user's"
		}
		return coded
	}
	if err != nil {
		return err
	}
	s.file, s.text = path, text
	if setting, ours := otherCase(text); setting != "" {
		return SettingError(path, text, setting, fmt.Sprintf("unknown setting %s; write %s", setting, ours))
	}
	d := toml.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return decodeError(path, text, err)
	}
	for name, argv := range s.Shells {
		if name == "" {
			return SettingError(path, text, "shells.", "a shell has an empty name; give it the name to use with --shell")
		}
		if len(argv) == 0 || argv[0] == "" {
			return SettingError(path, text, "shells."+name, fmt.Sprintf("shells.%s has no program; write %s = [\"/path/to/program\"]", name, name))
		}
	}
	if e := s.Sessions.Errexit; e != "" && e != "exit" && !s.KeepErrexit() {
		return SettingError(path, text, "sessions.errexit", fmt.Sprintf("sessions.errexit is %q; write \"exit\" or \"keep\"", e))
	}
	if err := shelltext.CheckPrefix(s.Prefix, "prefix"); err != nil {
		return SettingError(path, text, "prefix", err.Message)
	}
	return s.absolute()
}

// absolute rejects relative paths in the file: they would depend on the reader's directory.
func (s *Settings) absolute() error {
	for _, of := range []struct{ setting, path string }{
		{"socket", s.Socket}, {"state", s.State}, {"shell", s.Shell}, {"notify.secret_file", s.Notify.SecretFile}, {"faults", s.Faults},
	} {
		if of.path != "" && !filepath.IsAbs(of.path) {
			return SettingError(s.file, s.text, of.setting, fmt.Sprintf("%s %q is relative; give an absolute path", of.setting, of.path))
		}
	}
	return nil
}

// ReadFile reads a file of at most MaxFile bytes that belongs to this user or root. It
// rejects one that all users can write.
func ReadFile(path string) (string, error) {
	file, err := os.OpenFile(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	owner := peer.OwnerOf(info)
	switch {
	case !info.Mode().IsRegular():
		return "", configError(path, 0, "is not a regular file")
	case info.Mode().Perm()&0o002 != 0:
		return "", &messages.Error{
			Code: messages.Refused, Reason: out.ConfigReason, Message: fmt.Sprintf("all users can write the configuration %s (mode %04o)", path, info.Mode().Perm()),
			Hint: "check its contents, then chmod o-w " + out.Quoted(path),
		}
	case owner != unix.Geteuid() && owner != 0:
		return "", &messages.Error{
			Code: messages.Refused, Reason: out.ConfigReason, Message: fmt.Sprintf("the configuration %s belongs to user %d", path, owner), Hint: "it must belong to you or to root",
		}
	case info.Size() > MaxFile:
		return "", configError(path, 0, "is larger than 1 MiB")
	}
	b, err := io.ReadAll(io.LimitReader(file, MaxFile))
	return string(b), err
}

// configCount is a number of objects; 0 means the default.
type configCount uint32

// configSize is a number of bytes, such as "64MiB" or "10GB".
type configSize uint64

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *configSize) UnmarshalText(text []byte) error {
	n, err := flags.BytesOf(string(text))
	if err != nil || n > 1<<62 {
		return fmt.Errorf("invalid size %q: use a number with a unit, such as \"64MiB\" or \"10GB\"", text)
	}
	*s = configSize(n)
	return nil
}

// Duration is a time such as "90s" or "1h30m"; 0 means none. A struct, so that the decoder
// rejects numbers, which have no unit.
type Duration struct{ time.Duration }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Duration) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 || d > messages.MaxDuration {
		return fmt.Errorf("invalid duration %q: use a number with a unit, such as \"90s\", \"10m\" or \"1h30m\"", text)
	}
	s.Duration = d
	return nil
}

// logLevel is the level of the daemon's log. A struct, so that the decoder rejects numbers.
type logLevel struct{ zerolog.Level }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *logLevel) UnmarshalText(text []byte) error {
	for _, level := range []zerolog.Level{zerolog.DebugLevel, zerolog.InfoLevel, zerolog.WarnLevel, zerolog.ErrorLevel} {
		if level.String() == string(text) {
			l.Level = level
			return nil
		}
	}
	return fmt.Errorf("invalid log level %q: use debug, info, warn or error", text)
}
