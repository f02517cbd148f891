package dialect

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Describe returns the schema of a parameter.
func Describe(kind, description string) map[string]any {
	return map[string]any{"type": kind, "description": description}
}

// OneOf returns the schema of a parameter with a closed set of values.
func OneOf(description string, values ...string) map[string]any {
	return map[string]any{"type": "string", "description": description, "enum": values}
}

// List returns the schema of a list of strings.
func List(description string) map[string]any {
	return map[string]any{"type": "array", "description": description, "items": map[string]any{"type": "string"}}
}

// Variables returns the schema of an object of strings.
func Variables(description string) map[string]any {
	return map[string]any{"type": "object", "description": description, "additionalProperties": map[string]any{"type": "string"}}
}

// ObjectSchema returns the schema of an object with exactly these properties.
func ObjectSchema(properties map[string]any, required ...string) json.RawMessage {
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	text, _ := json.Marshal(schema) // of strings and maps
	return text
}

// SchemaOf returns the schema of a struct of parameters. The tag doc describes a field, the
// tag enum has its values, separated by commas. A field without omitempty is required. It
// does not say that there are no other parameters: Decode refuses those.
func SchemaOf[P any]() json.RawMessage {
	all, required := map[string]any{}, []string(nil)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[P]()) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		all[name] = property(f)
		if rest != "omitempty" {
			required = append(required, name)
		}
	}
	schema := map[string]any{"type": "object", "properties": all}
	if len(required) > 0 {
		schema["required"] = required
	}
	text, _ := json.Marshal(schema) // of strings and maps
	return text
}

func property(f reflect.StructField) map[string]any {
	doc, t := f.Tag.Get("doc"), f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return Describe("boolean", doc)
	case reflect.Float64:
		return Describe("number", doc)
	case reflect.Slice:
		return List(doc)
	case reflect.Map:
		return Variables(doc)
	case reflect.String:
		if values := f.Tag.Get("enum"); values != "" {
			return OneOf(doc, strings.Split(values, ",")...)
		}
		return Describe("string", doc)
	}
	return Describe("integer", doc)
}
