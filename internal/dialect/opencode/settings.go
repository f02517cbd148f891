package opencode

import "troupe/internal/artifact"

// Settings are those of the family. A field that is 0 has the default that its comment
// names.
type Settings struct {
	// MaxOutputBytes (51200) and MaxOutputLines (2000): at or under both a stream is
	// shown as it is.
	MaxOutputBytes int
	MaxOutputLines int
	// MaxPersistBytes (104857600) is how much of a stream is kept.
	MaxPersistBytes int64
	// TruncatedHeadLines and TruncatedTailLines (500 each) are the lines of a preview
	//
	TruncatedHeadLines int
	TruncatedTailLines int
	// MaxToolResponseTokens (300000): no result has more than four times as many
	// characters.
	MaxToolResponseTokens int
	// DefaultTimeout (120000) and MaxTimeout (600000) are milliseconds.
	DefaultTimeout int64
	MaxTimeout     int64
	// Banned are first words of commands that are not run (none).
	Banned []string
	// TempDir ("/tmp") has the directory opencode-<sessionID> of the session.
	TempDir string
	// NoFiles makes none: a long output is then its first and last 1000 lines.
	NoFiles bool
	// PlainNumbers writes 8432 and not 8,432; GapMarker tells in a preview with a file,
	// too, how many lines are not shown.
	PlainNumbers bool
	GapMarker    bool
	// Background offers run_in_background, tasklist and taskstop; DataDir, an
	// absolute path, has the outputs as tasks/<id>.out.
	Background bool
	DataDir    string
	// ShellPath is the shell (""): else one is found. PassEnv are names of variables that
	// commands inherit although they look like secrets.
	ShellPath string
	PassEnv   []string
}

func (s Settings) withDefaults() Settings {
	for field, value := range map[*int]int{
		&s.MaxOutputBytes: int(artifact.KeepLimits.Bytes), &s.MaxOutputLines: int(artifact.KeepLimits.Lines), &s.MaxToolResponseTokens: 300_000,
		&s.TruncatedHeadLines: artifact.EndLines, &s.TruncatedTailLines: artifact.EndLines,
	} {
		if *field <= 0 {
			*field = value
		}
	}
	for field, value := range map[*int64]int64{&s.MaxPersistBytes: artifact.PersistBytes, &s.DefaultTimeout: 120_000, &s.MaxTimeout: 600_000} {
		if *field <= 0 {
			*field = value
		}
	}
	if s.TempDir == "" {
		s.TempDir = "/tmp"
	}
	return s
}
