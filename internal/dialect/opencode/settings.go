package opencode

import "troupe/internal/artifact"

// Settings holds the settings of opencode. A zero field has the default that its comment
// gives.
type Settings struct {
	// MaxPersistBytes (104857600) bounds the kept part of a stream.
	MaxPersistBytes int64
	// TruncatedHeadLines and TruncatedTailLines (500 each) are the lines of a preview
	//
	TruncatedHeadLines int
	TruncatedTailLines int
	// tokens (300000) bounds a result to four times as many characters.
	tokens int
	// Banned lists command names that are refused (none).
	Banned []string
	// TempDir ("/tmp") contains the session's directory opencode-<sessionID> (R-166).
	TempDir string
	// NoFiles turns files off. A long output then shows its first and last 1000 lines
	//
	NoFiles bool
	// PlainNumbers writes 8432 instead of 8,432. GapMarker shows the number of left out
	// lines also in a preview with a file.
	PlainNumbers bool
	GapMarker    bool
	// Background offers run_in_background, tasklist and taskstop. DataDir is an
	// absolute path; the outputs are tasks/<id>.out below it.
	Background bool
	DataDir    string
	// ShellPath is the shell; "": one is searched. PassEnv names variables that commands
	// inherit although they look like secrets.
	ShellPath string
	PassEnv   []string
}

func (s Settings) withDefaults() Settings {
	for field, value := range map[*int]int{
		&s.tokens: 300_000, &s.TruncatedHeadLines: artifact.EndLines, &s.TruncatedTailLines: artifact.EndLines,
	} {
		if *field <= 0 {
			*field = value
		}
	}
	if s.MaxPersistBytes <= 0 {
		s.MaxPersistBytes = artifact.PersistBytes
	}
	if s.TempDir == "" {
		s.TempDir = "/tmp"
	}
	return s
}
