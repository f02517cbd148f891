package urls

import (
	"maps"
	"slices"
	"strings"
)

// Call is what a call says that may name internal URLs.
type Call struct {
	Command string
	Env     map[string]string
	Cwd     string
}

// maxURLs bounds what one call costs: the file system is asked about each of them.
const maxURLs = 1000

// Expand puts paths in the place of the URLs of a call: quoted for the shell in the
// command, as they are in the environment and in the directory. Other schemes stay
// as they are, and so does all of a call without a URL, and a text of over 512 KiB. What is made for a command
// (parents of local:// files) is made when every URL has its path.
//
// An error is an *Error: then nothing was made, unless making it is what failed.
func Expand(call Call, routers ...Router) (Call, error) {
	e := expansion{routers: routers, known: map[asked]string{}}
	command, err := e.command(call.Command)
	if err != nil {
		return Call{}, err
	}
	env, err := e.env(call.Env)
	if err != nil {
		return Call{}, err
	}
	cwd, err := e.raw(call.Cwd, InCwd)
	if err != nil {
		return Call{}, err
	}
	for _, make := range e.makes {
		if err := make(); err != nil {
			return Call{}, err
		}
	}
	return Call{command, env, cwd}, nil
}

// asked is a URL that has been resolved: once for each way to use it.
type asked struct {
	url string
	use Use
}

type expansion struct {
	routers []Router
	known   map[asked]string
	makes   []func() error
	count   int
}

func (e *expansion) command(text string) (string, error) {
	if !worthwhile(text) {
		return text, nil
	}
	return e.expand(finder{text: text, scan: &scanner{text: text}}, InCommand, quote)
}

func (e *expansion) raw(text string, use Use) (string, error) {
	if !worthwhile(text) {
		return text, nil
	}
	return e.expand(finder{text: text}, use, func(_ token, path string) string { return path })
}

// env gives a new map where a value changes, the old one otherwise.
func (e *expansion) env(old map[string]string) (map[string]string, error) {
	var env map[string]string
	for _, name := range slices.Sorted(maps.Keys(old)) { // always the same error first
		value, err := e.raw(old[name], InEnv)
		if err != nil {
			return nil, err
		}
		if value == old[name] {
			continue
		}
		if env == nil {
			env = maps.Clone(old)
		}
		env[name] = value
	}
	if env == nil {
		return old, nil
	}
	return env, nil
}

// expand replaces the tokens of one text. They are resolved from right to left: so is the
// error that is told.
func (e *expansion) expand(f finder, use Use, write func(token, string) string) (string, error) {
	var tokens []token
	for t, ok := f.next(); ok; t, ok = f.next() {
		if e.count++; e.count > maxURLs {
			return "", &Error{URL: t.url, Why: TooMany}
		}
		tokens = append(tokens, t)
	}
	paths := make([]string, len(tokens))
	for i := len(tokens) - 1; i >= 0; i-- {
		path, err := e.path(tokens[i].url, use)
		if err != nil {
			return "", err
		}
		paths[i] = write(tokens[i], path)
	}
	var out strings.Builder
	end := 0
	for i, t := range tokens {
		out.WriteString(f.text[end:t.start])
		out.WriteString(paths[i])
		end = t.end
	}
	out.WriteString(f.text[end:])
	return out.String(), nil
}

func (e *expansion) path(url string, use Use) (string, error) {
	key := asked{url, use}
	if path, ok := e.known[key]; ok {
		return path, nil
	}
	found, router, err := resolve(url, use, e.routers)
	if err != nil {
		return "", err
	}
	if maker, ok := router.(Maker); ok && use != InCwd {
		e.makes = append(e.makes, func() error {
			if err := maker.Make(found); err != nil {
				return &Error{URL: url, Why: Failed, Cause: err}
			}
			return nil
		})
	}
	e.known[key] = found.Path
	return found.Path, nil
}
