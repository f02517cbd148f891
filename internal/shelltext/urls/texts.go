package urls

import (
	"fmt"
	"strings"
)

// The sentences of this package. Each is said of one URL, which stands in it.
const (
	textUnsupported   = "%s has the unknown scheme %s://; supported are %s"
	textNoRouter      = "%s cannot be used: this session has no %s:// resources"
	textNotConfigured = "%s cannot be used: local:// is not set up for this session"
	textFailed        = "%s could not be resolved: %s"
	textNoPath        = "%s is no file, so a command cannot use it"
	textTooMany       = "more than %d internal URLs in one call, up to %s"
)

// The causes of textFailed.
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

// The listing of local://.
const (
	listHead  = "# local://\n\nFiles of this session that its commands and tools share. They are in %s\n\n"
	listEmpty = "There are none yet.\n"
	listCut   = "\nThe first %d are listed.\n"
)

// oneOf lists names as an error does.
func oneOf(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Error says why a URL of a call cannot be used. Nothing of the call has run.
type Error struct {
	URL   string // as it was written
	Why   Reason
	Cause error // of Failed
}

// Reason is what went wrong, for machines.
type Reason string

// The reasons.
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
