package faults

import (
	"bytes"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/pelletier/go-toml/v2"

	"troupe/messages"
)

// Plan is a seed and its rules. Parse makes one.
type Plan struct {
	Seed  uint64 `toml:"seed" json:"seed"`
	About string `toml:"about" json:"about"` // one line for troupe chaos --list
	Rules []Rule `toml:"rule" json:"rule"`
}

// Parse reads a plan: a JSON object, or TOML. The error has the code invalid_params, the reason
// "plan" and the line. An unknown key is an error.
func Parse(name string, text []byte) (Plan, error) {
	var p Plan
	at := tomlLines(text)
	if b := bytes.TrimSpace(text); len(b) > 0 && b[0] == '{' {
		at = func(int, string) int { return 0 }
		if err := jsonv2.Unmarshal(text, &p, jsonv2.RejectUnknownMembers(true)); err != nil {
			return Plan{}, jsonError(name, text, err)
		}
	} else if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&p); err != nil {
		return Plan{}, tomlError(name, err)
	}
	if len(p.Rules) == 0 {
		return Plan{}, planError(name, 0, "it has no rule")
	}
	names := map[string]bool{}
	for n := range p.Rules {
		r := &p.Rules[n]
		if r.Name == "" {
			r.Name = fmt.Sprintf("rule %d", n+1)
		}
		field, wrong := r.check()
		if wrong == "" && names[r.Name] {
			field, wrong = "name", fmt.Sprintf("two rules have the name %q", r.Name)
		}
		if wrong != "" {
			return Plan{}, planError(name, at(n, field), fmt.Sprintf("rule %d: %s", n+1, wrong))
		}
		names[r.Name] = true
	}
	return p, nil
}

func planError(name string, line int, wrong string) *messages.Error {
	where := "the plan " + name
	if line > 0 {
		where += fmt.Sprintf(", line %d", line)
	}
	e := messages.Invalid("plan", where+": "+wrong)
	e.Hint = "docs/faults-guide.md describes plans"
	return e
}

func tomlError(name string, err error) *messages.Error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		line, _ := strict.Errors[0].Position()
		key := strict.Errors[0].Key()
		return planError(name, line, "unknown key "+key[len(key)-1])
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, _ := wrong.Position()
		return planError(name, line, wrong.Error())
	}
	return planError(name, 0, err.Error())
}

func jsonError(name string, text []byte, err error) *messages.Error {
	offset := int64(0)
	var semantic *jsonv2.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		offset = semantic.ByteOffset
	case errors.As(err, &syntax):
		offset = syntax.ByteOffset
	}
	line := 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n"))
	return planError(name, line, err.Error())
}
