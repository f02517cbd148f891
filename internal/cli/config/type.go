package config

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// fieldOf finds the field of a table by its name in the file.
func fieldOf(table reflect.Type, name string) (reflect.StructField, bool) {
	for i := range table.NumField() {
		if f := table.Field(i); f.Tag.Get("toml") == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// typeOf returns the type of a setting; nil if there is no such setting.
func typeOf(key []string) reflect.Type {
	t := reflect.TypeFor[Settings]()
	for _, name := range key {
		if t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			f, ok := fieldOf(t, name)
			if !ok {
				return nil
			}
			t = f.Type
		default:
			return nil
		}
	}
	return t
}

// inRule matches the decoder's error for a field of an inline rule. That error has only the
// name of the Go field.
const inRule = `\.[rR]ule\.(\w+) `

// listError describes an invalid value of a list setting; "" for other settings.
func listError(key []string, text string) string {
	t, name := typeOf(key), strings.Join(key, ".")
	switch {
	case t == nil || t.Kind() != reflect.Slice:
		return ""
	case t.Elem().Kind() == reflect.String:
		return name + " must be a list of strings in quotes"
	}
	if m := regexp.MustCompile(inRule).FindStringSubmatch(text); m != nil {
		return name + "." + strings.ToLower(m[1]) + " must be a string in quotes"
	}
	return name + " must be a list of tables"
}

// unnamed finds a setting whose value must be text such as "10s" or "64MiB" and is not. The
// decoder reports neither its name nor its line. It returns "" if there is none.
func unnamed(text string) (setting, wrong string) {
	var given map[string]any
	if toml.Unmarshal([]byte(text), &given) != nil {
		return "", ""
	}
	return wrongIn(reflect.TypeFor[Settings](), given, "")
}

func wrongIn(table reflect.Type, given map[string]any, prefix string) (setting, wrong string) {
	for i := range table.NumField() { // in the order of docs/cli.md
		f := table.Field(i)
		name := f.Tag.Get("toml")
		value, there := given[name]
		if !there || name == "" {
			continue
		}
		if read, ok := reflect.New(f.Type).Interface().(encoding.TextUnmarshaler); ok {
			if err := read.UnmarshalText(fmt.Append(nil, value)); err != nil {
				return prefix + name, prefix + name + ": " + err.Error()
			}
			continue
		}
		if below, ok := value.(map[string]any); ok && f.Type.Kind() == reflect.Struct {
			if setting, wrong := wrongIn(f.Type, below, prefix+name+"."); wrong != "" {
				return setting, wrong
			}
		}
	}
	return "", ""
}

// otherCase finds a setting whose name differs from ours only in case: the decoder would
// accept it. It returns "" if there is none.
func otherCase(text string) (setting, ours string) {
	var given map[string]any
	if toml.Unmarshal([]byte(text), &given) != nil {
		return "", ""
	}
	return otherCaseIn(reflect.TypeFor[Settings](), given, "")
}

func otherCaseIn(t reflect.Type, value any, prefix string) (setting, ours string) {
	switch given := value.(type) {
	case []any:
		for _, one := range given {
			if setting, ours = otherCaseIn(elemOf(t), one, prefix); setting != "" {
				break
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(given)) {
			field, known := foldedField(t, name)
			if !known {
				continue
			}
			if tag := field.Tag.Get("toml"); tag != name {
				return prefix + name, prefix + tag
			}
			if setting, ours = otherCaseIn(field.Type, given[name], prefix+name+"."); setting != "" {
				break
			}
		}
	}
	return setting, ours
}

// elemOf returns the element type of a list, and other types unchanged.
func elemOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice {
		return t.Elem()
	}
	return t
}

// foldedField finds the field of a table by its name in the file, in any case. It prefers an
// exact match.
func foldedField(t reflect.Type, name string) (reflect.StructField, bool) {
	if t.Kind() != reflect.Struct || name == "" {
		return reflect.StructField{}, false
	}
	if f, ok := fieldOf(t, name); ok {
		return f, true
	}
	for i := range t.NumField() {
		if f := t.Field(i); strings.EqualFold(f.Tag.Get("toml"), name) {
			return f, true
		}
	}
	return reflect.StructField{}, false
}
