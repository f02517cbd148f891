package omp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CommandLine renders a call for people: a prompt, the change of directory, the
// variables sorted by name, and the command. It is never executed.
func CommandLine(p Params, sessionDir string) string {
	var b strings.Builder
	b.WriteString("$ ")
	if p.Cwd != "" && p.Cwd != sessionDir {
		fmt.Fprintf(&b, "cd %s && ", p.Cwd)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		fmt.Fprintf(&b, "%s=\"%s\" ", name, escaped.Replace(p.Env[name]))
	}
	b.WriteString(p.Command)
	return b.String()
}

var escaped = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, `"`, `\"`, `$`, `\$`, "`", "\\`")

// Partial returns what can be shown of a call whose arguments are incomplete: JSON cut at
// any byte. The result is for display only.
func Partial(arguments string) Params {
	var p Params
	for _, whole := range completions(arguments) {
		var fields struct {
			Command any            `json:"command"`
			Env     map[string]any `json:"env"`
			Cwd     any            `json:"cwd"`
		}
		if json.Unmarshal([]byte(whole), &fields) != nil {
			continue
		}
		p.Command, _ = fields.Command.(string)
		p.Cwd, _ = fields.Cwd.(string)
		for name, value := range fields.Env {
			text, ok := value.(string)
			if !ok || !envName.MatchString(name) {
				continue
			}
			if p.Env == nil {
				p.Env = map[string]string{}
			}
			p.Env[name] = text
		}
		break
	}
	return p
}

// maxPartial bounds the part of an incomplete call that is parsed, in bytes.
const maxPartial = 64 << 10

// completions returns possible completions of a cut text, best first. They close its
// strings and brackets, or drop the part after the last comma.
func completions(text string) []string {
	if len(text) > maxPartial {
		text = text[:maxPartial]
	}
	var closers []byte
	inString, comma, commaDepth := false, -1, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inString && c == '\\':
			if i+1 == len(text) {
				text = text[:i] // an incomplete escape
				break
			}
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			closers = append(closers, '}')
		case c == '[':
			closers = append(closers, ']')
		case (c == '}' || c == ']') && len(closers) > 0:
			closers = closers[:len(closers)-1]
		case c == ',':
			comma, commaDepth = i, len(closers)
		}
	}
	slices.Reverse(closers)
	all := []string{text}
	if inString {
		at := strings.LastIndex(text, `\u`)
		if at >= 0 && len(text)-at < len(`\u0000`) {
			all = append(all, text[:at]+`"`+string(closers))
		}
		all = append(all, text+`"`+string(closers))
	}
	all = append(all, text+string(closers), text+"null"+string(closers))
	if comma >= 0 && commaDepth <= len(closers) {
		all = append(all, text[:comma]+string(closers[len(closers)-commaDepth:]))
	}
	if open := strings.LastIndexByte(text, '{'); open >= 0 { // the first field is incomplete
		all = append(all, text[:open+1]+string(closers))
	}
	return all
}
