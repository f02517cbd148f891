package daemon

import (
	"io"
	"log/slog"
	"os"

	"github.com/rs/zerolog"

	"troupe/backends/keeper"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
)

// NewLog returns the daemon's log on stderr: sentences on a terminal, elsewhere one
// JSON object a line.
func NewLog(m *cli.Main, s *config.Settings) zerolog.Logger {
	var to zerolog.LevelWriter
	if cli.IsTerminal(m.Err) {
		to = zerolog.MultiLevelWriter(zerolog.ConsoleWriter{Out: m.Err, TimeFormat: "15:04:05.000"})
	} else {
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

// keeperFault logs a fault or a report of a keeper.
func (d *daemon) keeperFault(fault error) {
	if keeper.IsReport(fault) {
		d.log.Warn().Msg(fault.Error())
		return
	}
	d.log.Error().Err(fault).Msg("fault of the keeper")
}
