package urls

import (
	"slices"
	"strings"
)

// Schemes that are found in the texts of a call.
const (
	Skill    = "skill"
	Agent    = "agent"
	Artifact = "artifact"
	Plan     = "plan"
	Memory   = "memory"
	Rule     = "rule"
	Local    = "local"
)

var schemes = []string{Skill, Agent, Artifact, Plan, Memory, Rule, Local}

func supported() []string {
	all := make([]string, len(schemes))
	for i, scheme := range schemes {
		all[i] = scheme + "://"
	}
	return all
}

// URL is a parsed internal URL.
type URL struct {
	Raw    string // as written
	Scheme string // lower case
	Rest   string // after scheme://, not decoded
}

// parse parses a URL; local:/x means local://x. A text without a scheme has an empty
// Scheme.
func parse(raw string) URL {
	scheme, rest, found := strings.Cut(raw, ":/")
	if !found {
		return URL{Raw: raw}
	}
	scheme = strings.ToLower(scheme)
	if after, two := strings.CutPrefix(rest, "/"); two || scheme != Local {
		rest = after
	}
	return URL{Raw: raw, Scheme: scheme, Rest: rest}
}

func schemeOf(raw string) string { return parse(raw).Scheme }

// Use is where a URL occurs. It decides what is created, and what must exist.
type Use int

const (
	InCommand Use = iota
	InEnv
	InCwd
	ToRead // by a tool that reads it, not by a command
)

// Resource is the meaning of a URL.
type Resource struct {
	Path      string // absolute, of a file or directory; "": none
	Text      string // content, if it is not the file at Path: a listing
	Type      string // media type, if known
	Immutable bool   // never changes, so readers may cache it
}

// Router resolves the URLs of one scheme.
type Router interface {
	Scheme() string
	Resolve(u URL, use Use) (Resource, error)
}

// Maker is a Router that prepares a resolved resource. It runs after all URLs of the
// call are resolved, before the command.
type Maker interface {
	Make(Resource) error
}

// resolve returns the resource of a URL and its router. An error is an *Error.
func resolve(raw string, use Use, routers []Router) (Resource, Router, error) {
	u := parse(raw)
	for _, router := range routers {
		if router.Scheme() != u.Scheme {
			continue
		}
		found, err := router.Resolve(u, use)
		switch {
		case err != nil:
			return Resource{}, nil, &Error{URL: raw, Why: Failed, Cause: err}
		case found.Path == "" && use != ToRead:
			return Resource{}, nil, &Error{URL: raw, Why: NoPath}
		}
		return found, router, nil
	}
	return Resource{}, nil, &Error{URL: raw, Why: missing(u.Scheme)}
}

// missing returns why a scheme has no router.
func missing(scheme string) Reason {
	if scheme == Local {
		return NotConfigured
	}
	if slices.Contains(schemes, scheme) {
		return NoRouter
	}
	return Unsupported
}
