package api

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// head is the beginning of the document.
const head = `openapi: 3.1.0
info:
  title: troupe
  version: "1"
  description: >-
    Run shell jobs and look after them. Served on a unix socket of its user alone, and on loopback TCP with a token.
    Bodies are JSON objects of at most 1 MiB (a command's text may have 16 MiB), nested 64 deep, read strictly: an unknown
    field is invalid_params, and so is an unknown parameter; null is a field left out. Durations are whole milliseconds.
    Replies may gain fields.
security:
  - {}
  - token: []
paths:
`

// parts are the components beside the schemas.
const parts = `components:
  securitySchemes:
    token: {type: http, scheme: bearer, description: on TCP only}
  responses:
    error: {description: an error, content: {application/json: {schema: {$ref: '#/components/schemas/ErrorBody'}}}}
  schemas:
`

// Document returns the description of the API in OpenAPI 3.1, as the table of routes and the
// structs have it.
func Document() string {
	var b strings.Builder
	b.WriteString(head)
	s := &schemas{}
	types := []reflect.Type{reflect.TypeFor[ErrorBody](), reflect.TypeFor[Event](), reflect.TypeFor[AttachEvent](), reflect.TypeFor[AttachRequest]()}
	last := ""
	for _, r := range byPath() {
		path := strings.Replace(r.Path, "...}", "}", 1)
		if path != last {
			fmt.Fprintf(&b, "  %s:\n", path)
		}
		last = path
		r.write(&b)
		if r.HasBody() {
			types = append(types, reflect.TypeOf(r.Request))
		}
		if r.Media() == "" {
			types = append(types, reflect.TypeOf(r.Reply))
		}
	}
	b.WriteString(parts)
	s.build(types...)
	for _, name := range slices.Sorted(maps.Keys(s.made)) {
		fmt.Fprintf(&b, "    %s:\n", name)
		s.made[name].write(&b)
	}
	b.WriteString("x-troupe-statuses: # of the codes of errors\n")
	for _, code := range slices.Sorted(maps.Keys(statuses())) {
		fmt.Fprintf(&b, "  %s: %d\n", code, statuses()[code])
	}
	return b.String()
}

// byPath returns the routes with those of one path together.
func byPath() (all []Route) {
	routes := Routes()
	for i, r := range routes {
		if slices.ContainsFunc(routes[:i], func(before Route) bool { return before.Path == r.Path }) {
			continue
		}
		for _, same := range routes[i:] {
			if same.Path == r.Path {
				all = append(all, same)
			}
		}
	}
	return all
}

// write writes the operation of a route.
func (r Route) write(b *strings.Builder) {
	fmt.Fprintf(b, "    %s:\n      operationId: %s\n      description: %s\n", strings.ToLower(r.Method), r.ID, strconv.Quote(r.About))
	if params := r.Parameters(); len(params) > 0 {
		b.WriteString("      parameters:\n")
		for _, p := range params {
			fmt.Fprintf(b, "        - {name: %s, in: %s, %sschema: %s, description: %s}\n",
				p.Name, p.In, map[bool]string{true: "required: true, "}[p.In == "path"], p.schema().flow(), strconv.Quote(r.describe(p)))
		}
	}
	if r.HasBody() {
		fmt.Fprintf(b, "      requestBody:\n        required: true\n        content:\n          application/json: {schema: %s}\n", refTo(r.Request))
	}
	b.WriteString("      responses:\n")
	for _, status := range r.Statuses {
		fmt.Fprintf(b, "        '%d': %s\n", status, r.response(status))
	}
	b.WriteString("        default: {$ref: '#/components/responses/error'}\n")
}

// describe returns the description of a parameter.
func (r Route) describe(p Param) string {
	if p.About != "" {
		return p.About
	}
	if r.Request != nil {
		if text, is := descriptions()[reflect.TypeOf(r.Request).Name()+"."+p.Name]; is {
			return text
		}
	}
	return descriptions()[p.Name]
}

func (p Param) schema() *schema {
	if strings.Contains(p.Type, "|") {
		return &schema{kind: "string", enum: strings.Split(p.Type, "|")}
	}
	return &schema{kind: p.Type}
}

// response returns a successful reply of a route.
func (r Route) response(status int) string {
	word := map[int]string{200: "ok", 202: "accepted"}[status]
	switch media := r.Media(); media {
	case "":
		return fmt.Sprintf("{description: %s, content: {application/json: {schema: %s}}}", word, refTo(r.Reply))
	case "websocket":
		return "{description: the WebSocket}"
	case "application/octet-stream":
		return fmt.Sprintf("{description: the bytes; trailers %s and %s, headers: {%s: %s, %s: %s, %s: %s}, content: {%s: {schema: {type: string, format: binary}}}}",
			NextTrailer, GapsTrailer, StreamHeader, textHeader, OffsetHeader, textHeader, SizeHeader, textHeader, media)
	case "text/event-stream":
		return fmt.Sprintf("{description: ok, headers: {%s: %s}, content: {%s: {schema: {type: string}}}}", OriginHeader, textHeader, media)
	default:
		return fmt.Sprintf("{description: ok, content: {%s: {schema: {type: string}}}}", media)
	}
}

const textHeader = "{schema: {type: string}}"

func refTo(v any) string { return (&schema{ref: schemaName(reflect.TypeOf(v))}).flow() }

// write writes a schema in lines, for people.
func (s *schema) write(b *strings.Builder) {
	if s.all != nil {
		fmt.Fprintf(b, "      description: %s\n      allOf:\n", strconv.Quote(s.about))
		for _, one := range s.all {
			fmt.Fprintf(b, "        - %s\n", one.flow())
		}
		return
	}
	b.WriteString("      type: object\n")
	if s.about != "" {
		fmt.Fprintf(b, "      description: %s\n", strconv.Quote(s.about))
	}
	if len(s.required) > 0 {
		fmt.Fprintf(b, "      required: [%s]\n", strings.Join(s.required, ", "))
	}
	if len(s.properties) == 0 {
		b.WriteString("      properties: {}\n")
		return
	}
	b.WriteString("      properties:\n")
	for _, p := range s.properties {
		fmt.Fprintf(b, "        %s: %s\n", p.name, p.flow())
	}
}

// flow returns a schema on one line.
func (s *schema) flow() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case s.ref != "" && s.null:
		add("anyOf: [{$ref: '#/components/schemas/%s'}, {type: 'null'}]", s.ref)
	case s.ref != "":
		add("$ref: '#/components/schemas/%s'", s.ref)
	case s.null:
		add("type: [%s, 'null']", s.kind)
	default:
		add("type: %s", s.kind)
	}
	if s.format != "" {
		add("format: %s", s.format)
	}
	if s.constant != "" {
		add("const: %s", s.constant)
	}
	if s.enum != nil {
		values := strings.Replace(strings.Join(s.enum, ", "), "null", "'null'", 1)
		if s.null {
			values += ", null"
		}
		add("enum: [%s]", values)
	}
	if s.items != nil {
		add("items: %s", s.items.flow())
	}
	if s.extra != nil {
		add("additionalProperties: %s", s.extra.flow())
	}
	if s.properties != nil {
		var inner []string
		for _, p := range s.properties {
			inner = append(inner, p.name+": "+p.flow())
		}
		add("properties: {%s}", strings.Join(inner, ", "))
	}
	if s.about != "" {
		add("description: %s", strconv.Quote(s.about))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
