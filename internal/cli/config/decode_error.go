package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"troupe/internal/cli/out"
	"troupe/messages"
)

// configError returns an error that names the file, and the line if it is above 0.
func configError(path string, line int, what string) *messages.Error {
	at := ""
	if line > 0 {
		at = fmt.Sprintf(", line %d", line)
		what = ": " + what
	} else {
		what = " " + what
	}
	e := messages.Invalid(out.ConfigReason, "the configuration "+path+at+what)
	e.Hint = "docs/cli.md lists the settings"
	return e
}

func decodeError(path, text string, err error) *messages.Error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		first := strict.Errors[0]
		line, _ := first.Position()
		return configError(path, line, "unknown setting "+strings.Join(first.Key(), "."))
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, _ := wrong.Position()
		return configError(path, line, valueError(wrong))
	}
	if setting, wrong := unnamed(text); wrong != "" {
		return SettingError(path, text, setting, wrong)
	}
	return configError(path, 0, "cannot be parsed: "+err.Error())
}

// kinds pairs the end of a decoder error, which names a Go type, with the values that such a
// setting takes.
func kinds() []struct{ end, takes string } {
	return []struct{ end, takes string }{
		{reflect.TypeFor[configCount]().String(), "a whole number from 0 to 4294967295"},
		{reflect.TypeFor[Duration]().String(), `a duration such as "90s", "10m" or "1h30m"`},
		{reflect.TypeFor[configSize]().String(), `a size such as "64MiB"`},
		{reflect.TypeFor[logLevel]().String(), `"debug", "info", "warn" or "error"`},
		{"of type bool", "true or false"},
		{"in a bool", "true or false"},
		{"map[string][]string", "a table of settings"},
		{"[]string", "a list of strings in quotes"},
		{"string", "a string in quotes"},
		{"Settings", "a table of settings"},
		{"in a struct", "a table of settings"},
		{"in a uint32", "a whole number from 0 to 4294967295"},
	}
}

// unmarshalErrors are the beginnings of the errors of UnmarshalText.
var unmarshalErrors = []string{"invalid size ", "invalid duration ", "invalid log level "}

// valueError describes an invalid value or a syntax error.
func valueError(e *toml.DecodeError) string {
	text := strings.TrimPrefix(e.Error(), "toml: ")
	if wrong := listError(e.Key(), text); wrong != "" {
		return wrong
	}
	for _, kind := range kinds() {
		if strings.HasSuffix(text, kind.end) {
			return strings.Join(e.Key(), ".") + " must be " + kind.takes
		}
	}
	for _, start := range unmarshalErrors {
		if strings.HasPrefix(text, start) {
			return strings.Join(e.Key(), ".") + ": " + text
		}
	}
	return text
}
