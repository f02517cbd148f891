package main

import (
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// fieldOf finds the field of a table that has a name in the file.
func fieldOf(table reflect.Type, name string) (reflect.StructField, bool) {
	for i := range table.NumField() {
		if f := table.Field(i); f.Tag.Get("toml") == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// typeOf is the type of a setting, nil if there is none of that name.
func typeOf(key []string) reflect.Type {
	t := reflect.TypeFor[settings]()
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

// inRule is what the decoder says of a field in a list that stands on one line, of which
// it gives the name in Go alone.
var inRule = regexp.MustCompile(`main\.rule\.(\w+) `)

// listError says what is wrong with a setting that is a list, "" if it is none.
func listError(key []string, text string) string {
	t, name := typeOf(key), strings.Join(key, ".")
	switch {
	case t == nil || t.Kind() != reflect.Slice:
		return ""
	case t.Elem().Kind() == reflect.String:
		return name + " must be a list of texts in quotes"
	}
	if m := inRule.FindStringSubmatch(text); m != nil {
		return name + "." + strings.ToLower(m[1]) + " must be a text in quotes"
	}
	return name + " must be a list of tables"
}

// unnamed finds the setting of a value that is no text where one like "10s" or "64MiB"
// must be: of such the decoder tells neither name nor line. "" is none.
func unnamed(text string) (setting, wrong string) {
	var given map[string]any
	if toml.Unmarshal([]byte(text), &given) != nil {
		return "", ""
	}
	return wrongIn(reflect.TypeFor[settings](), given, "")
}

func wrongIn(table reflect.Type, given map[string]any, prefix string) (setting, wrong string) {
	for i := range table.NumField() { // in the order of the page
		f := table.Field(i)
		name := f.Tag.Get("toml")
		value, there := given[name]
		if !there || name == "" {
			continue
		}
		if read, ok := reflect.New(f.Type).Interface().(encoding.TextUnmarshaler); ok {
			if err := read.UnmarshalText(fmt.Append(nil, value)); err != nil {
				return prefix + name, prefix + name + " cannot be: " + err.Error()
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
