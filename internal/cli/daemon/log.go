package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/rs/zerolog"

	"troupe/backends/keeper"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
)

// NewLog returns the daemon's log on stderr: sentences on a terminal, elsewhere one
// JSON object a line. In the journal of systemd each line has its priority.
func NewLog(m *cli.Main, s *config.Settings) zerolog.Logger {
	var to zerolog.LevelWriter
	switch {
	case cli.IsTerminal(m.Err):
		to = zerolog.MultiLevelWriter(zerolog.ConsoleWriter{Out: m.Err, TimeFormat: "15:04:05.000"})
	case toJournal():
		to = journalLog{m.Err}
	default:
		to = zerolog.MultiLevelWriter(&boundedLog{file: m.Err})
	}
	return zerolog.New(to).Level(s.Log.Level).With().Timestamp().Logger()
}

// Slogger returns the log as a slog.Logger.
func Slogger(l zerolog.Logger) *slog.Logger { return slog.New(zerolog.NewSlogHandler(l)) }

// maxLog is the size in bytes after which a log file is truncated.
const maxLog = 4 << 20

// boundedLog writes to a file of bounded size. It writes without limit to a pipe or a
// socket, whose reader limits the log.
type boundedLog struct{ file *os.File }

// Write implements io.Writer. zerolog writes one line at a time.
func (b *boundedLog) Write(p []byte) (int, error) {
	if info, err := b.file.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > maxLog {
		_ = b.file.Truncate(0)
		_, _ = b.file.Seek(0, io.SeekStart) // without O_APPEND the next write would leave a hole and exceed maxLog again
	}
	return b.file.Write(p)
}

// toJournal reports whether stderr is the journal of systemd.
func toJournal() bool {
	is, err := journal.StderrIsJournalStream()
	return err == nil && is
}

// journalLog writes each line after its priority, as sd-daemon(3) has it.
type journalLog struct{ io.Writer }

// WriteLevel implements zerolog.LevelWriter.
func (j journalLog) WriteLevel(level zerolog.Level, p []byte) (int, error) {
	if _, err := j.Write(fmt.Appendf(nil, "<%d>%s", priority(level), p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// priority returns the priority of a level, as in syslog(3).
func priority(level zerolog.Level) journal.Priority {
	switch level {
	case zerolog.PanicLevel, zerolog.FatalLevel:
		return journal.PriCrit
	case zerolog.ErrorLevel:
		return journal.PriErr
	case zerolog.WarnLevel:
		return journal.PriWarning
	case zerolog.DebugLevel, zerolog.TraceLevel:
		return journal.PriDebug
	}
	return journal.PriInfo
}

// keeperFault logs a fault or a report of a keeper.
func (d *daemon) keeperFault(fault error) {
	if keeper.IsReport(fault) {
		d.log.Warn().Msg(fault.Error())
		return
	}
	d.log.Error().Err(fault).Msg("fault of the keeper")
}
