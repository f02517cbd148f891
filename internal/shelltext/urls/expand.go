package urls

import (
	"maps"
	"slices"
	"strings"
)

// Call holds the parts of a call that may contain internal URLs.
type Call struct {
	Command string
	Env     map[string]string
	Cwd     string
}

// maxURLs bounds the URLs of one call, since each causes file system requests.
const maxURLs = 1000

// Expand replaces the URLs of a call by paths: quoted for the shell in the command,
// unquoted in the environment and in the directory. Other schemes stay
// unchanged, and so does a text above 512 KiB. Parents of local:// files are created
// after all URLs have a path.
//
// An error is an *Error. Nothing was created then, unless creating is what failed.
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

// asked is the key of a resolved URL: its result depends on the use.
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

// env returns a new map if a value changes, otherwise old.
func (e *expansion) env(old map[string]string) (map[string]string, error) {
	var env map[string]string
	for _, name := range slices.Sorted(maps.Keys(old)) { // a stable order of errors
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

// expand replaces the URLs of one text. It resolves them from right to left, so the
// last error is reported.
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
