package urls

import (
	"fmt"
	"strings"
)

// Texts about one URL, which is part of the sentence.
const (
	textUnsupported   = "%s has the unknown scheme %s://; supported are %s"
	textNoRouter      = "%s cannot be used: this session has no %s:// resources"
	textNotConfigured = "%s cannot be used: local:// is not set up for this session"
	textFailed        = "%s could not be resolved: %s"
	textNoPath        = "%s is no file, so a command cannot use it"
	textTooMany       = "more than %d internal URLs in one call, up to %s"
)

// Causes of textFailed.
const (
	causeEncoding    = "its percent-encoding is invalid"
	causeEscapes     = "it leads out of %s"
	causeNotFound    = "there is no such file"
	causeNotAFile    = "it is not a file"
	causeParents     = "its directory cannot be made: %w"
	causeListing     = "its directory cannot be listed: %w"
	causeSkillURL    = "a skill URL is skill://<name> or skill://<name>/<path>"
	causeNoSkill     = "unknown skill %s; available: %s"
	causeAbsolute    = "its path is absolute"
	causeDotDot      = "its path has a .. in it"
	causeNoID        = "it has no id; artifact URLs are artifact://<id>"
	causeNotNumeric  = "the id %s is not a decimal number"
	causeNoSession   = "there is no session that has artifacts"
	causeNoDirectory = "no session has a directory of artifacts yet"
	causeNoArtifact  = "there is no artifact %s; available: %s"
	causeNoName      = "it names nothing; such URLs are %s<name>"
	causeNoRoots     = "%s:// has no directory in this session"
)

// Listing of local://.
const (
	listHead  = "# local://\n\nFiles of this session that its commands and tools share. They are in %s\n\n"
	listEmpty = "There are none yet.\n"
	listCut   = "\nThe first %d are listed.\n"
)

// oneOf formats names for an error.
func oneOf(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Error explains why a URL of a call cannot be used. No part of the call has run.
type Error struct {
	URL   string // as written
	Why   Reason
	Cause error // of Failed
}

// Reason names the problem for programs.
type Reason string

// Reasons.
const (
	Unsupported   Reason = "unsupported_scheme"
	NoRouter      Reason = "no_router"
	NotConfigured Reason = "local_not_configured"
	Failed        Reason = "not_resolved"
	NoPath        Reason = "no_path"
	TooMany       Reason = "too_many"
)

func (e *Error) Error() string {
	scheme := schemeOf(e.URL)
	switch e.Why {
	case Unsupported:
		return fmt.Sprintf(textUnsupported, e.URL, scheme, strings.Join(supported(), ", "))
	case NoRouter:
		return fmt.Sprintf(textNoRouter, e.URL, scheme)
	case NotConfigured:
		return fmt.Sprintf(textNotConfigured, e.URL)
	case NoPath:
		return fmt.Sprintf(textNoPath, e.URL)
	case TooMany:
		return fmt.Sprintf(textTooMany, maxURLs, e.URL)
	}
	return fmt.Sprintf(textFailed, e.URL, e.Cause)
}

func (e *Error) Unwrap() error { return e.Cause }
