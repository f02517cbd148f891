package daemon

import (
	"io"
	"log/slog"
	"os"

	"github.com/rs/zerolog"

	"troupe/internal/cli"
	"troupe/internal/cli/config"
)

// NewLog is what the daemon says on stderr: sentences on a terminal, an object a
// line elsewhere.
func NewLog(m *cli.Main, s *config.Settings) zerolog.Logger {
	var to zerolog.LevelWriter
	if cli.IsTerminal(m.Err) {
		to = zerolog.MultiLevelWriter(zerolog.ConsoleWriter{Out: m.Err, TimeFormat: "15:04:05.000"})
	} else {
		to = zerolog.MultiLevelWriter(&boundedLog{file: m.Err})
	}
	return zerolog.New(to).Level(s.Log.Level).With().Timestamp().Logger()
}

// Slogger is the log for who speaks slog.
func Slogger(l zerolog.Logger) *slog.Logger { return slog.New(zerolog.NewSlogHandler(l)) }

// maxLog bounds a log that is a file: then it begins anew.
const maxLog = 4 << 20

// boundedLog writes to a file that does not grow for ever; to a pipe or a socket,
// whose reader sees to that, it just writes.
type boundedLog struct{ file *os.File }

// Write implements io.Writer. zerolog writes one line at a time.
func (b *boundedLog) Write(p []byte) (int, error) {
	if info, err := b.file.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > maxLog {
		_ = b.file.Truncate(0)
		_, _ = b.file.Seek(0, io.SeekStart) // one that is not appended to would go on behind a hole, and be too large at once
	}
	return b.file.Write(p)
}
