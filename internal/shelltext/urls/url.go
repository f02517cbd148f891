// Package urls turns the internal URLs of a call, such as skill://review or
// local://notes.md, into the paths of files, before anything runs. It decides by text;
// what the file system says it asks through shell.Files.
package urls

import "strings"

// The schemes that are found in the texts of a call.
const (
	Skill    = "skill"
	Agent    = "agent"
	Artifact = "artifact"
	Plan     = "plan"
	Memory   = "memory"
	Rule     = "rule"
	Local    = "local"
)

// schemes are all of them.
var schemes = []string{Skill, Agent, Artifact, Plan, Memory, Rule, Local}

func supported() []string {
	all := make([]string, len(schemes))
	for i, scheme := range schemes {
		all[i] = scheme + "://"
	}
	return all
}

// URL is one internal URL, taken apart.
type URL struct {
	Raw    string // as it was written
	Scheme string // in lower case
	Rest   string // what follows scheme://, not decoded
}

// parse takes a URL apart; local:/x means local://x. A text without a scheme has none.
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

// Use is where a URL stands: it decides what is made, and what must be there.
type Use int

// The uses.
const (
	InCommand Use = iota
	InEnv
	InCwd
	ToRead // by a tool that reads it, and no command
)

// Resource is what a URL means.
type Resource struct {
	Path      string // of a file or directory, absolute; "" if there is none
	Text      string // what is read where that is not the file at Path: a listing
	Type      string // the media type, where the router knows it
	Immutable bool   // it never changes: readers may keep it
}

// Router knows the resources of one scheme.
type Router interface {
	Scheme() string
	Resolve(u URL, use Use) (Resource, error)
}

// Maker is a Router that makes something ready before a command uses what it has
// resolved, when all URLs of the call are.
type Maker interface {
	Make(Resource) error
}

// resolve returns what one URL means and the router that knows it. An error is an *Error.
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

// missing is why there is no router for a scheme.
func missing(scheme string) Reason {
	if scheme == Local {
		return NotConfigured
	}
	for _, known := range schemes {
		if scheme == known {
			return NoRouter
		}
	}
	return Unsupported
}
