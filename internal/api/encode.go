package api

import (
	"errors"
	"fmt"
	"net/url"
	slash "path"
	"reflect"
	"strconv"
	"strings"
	"time"

	"troupe/messages"
)

// Encode returns the path, the query and the body of a request; nil: it has no body.
func (r Route) Encode(request any) (path string, query url.Values, body []byte, err error) {
	if path, err = r.path(request); err != nil {
		return "", nil, nil, err
	}
	if query, err = r.queryOf(request); err != nil {
		return "", nil, nil, err
	}
	if read, is := request.(messages.ReadOutput); is {
		if query, err = viewQuery(read); err != nil {
			return "", nil, nil, err
		}
	}
	if r.HasBody() {
		body, err = messages.MarshalRequest(request)
	}
	var coded *messages.Error
	if errors.As(err, &coded) { // of a rule, wrapped by the encoder
		err = coded
	}
	return path, query, body, err
}

// path returns the path of a request.
func (r Route) path(request any) (string, error) {
	path := r.Path
	for _, f := range r.paths {
		text := reflect.ValueOf(request).FieldByIndex(f.Index).String()
		whole := "{" + f.name + "...}"
		switch {
		case !r.inPath(f.name):
			continue
		case strings.Contains(path, whole):
			if !isPart(text) {
				return "", notPart(f.name, text)
			}
			parts := strings.Split(text, "/")
			for i, part := range parts {
				parts[i] = url.PathEscape(part)
			}
			path = strings.Replace(path, whole, strings.Join(parts, "/"), 1)
			continue
		case f.Type == reflect.TypeFor[messages.JobID]():
			if _, err := PathOf(messages.JobID(text)); err != nil {
				return "", err
			}
		case !isPart(text):
			return "", notPart(f.name, text)
		}
		path = strings.Replace(path, "{"+f.name+"}", url.PathEscape(text), 1)
	}
	return path, nil
}

// PathOf returns the path of a job. There is none with a name that leads elsewhere, as "..".
func PathOf(job messages.JobID) (string, error) {
	if !isPart(string(job)) {
		return "", messages.NoSuchJob(job)
	}
	return "/v1/jobs/" + url.PathEscape(string(job)), nil
}

// notPart returns the error of a name that cannot be sent in a path.
func notPart(field, text string) *messages.Error {
	return messages.Invalid(field, fmt.Sprintf("%.64q cannot be a part of a path; give a name", text))
}

// isPart reports whether a name stays what it is as a part of a path.
func isPart(name string) bool { return name != "" && slash.Clean("/"+name) == "/"+name }

// queryOf returns the query of a request.
func (r Route) queryOf(request any) (url.Values, error) {
	query := url.Values{}
	for _, f := range r.queries {
		v := reflect.ValueOf(request).FieldByIndex(f.Index)
		if v.IsZero() {
			continue
		}
		switch v.Kind() {
		case reflect.Bool:
			query.Set(f.name, "true")
		case reflect.Int:
			query.Set(f.name, strconv.FormatInt(v.Int(), 10))
		case reflect.Int64: // a grace
			query.Set(f.name, strconv.FormatInt(messages.SpanMS(f.name, time.Duration(v.Int())), 10))
		case reflect.Slice:
			if v.Len() > 1 {
				return nil, messages.Invalid(f.name, "the daemon lists one "+f.name+" at a time")
			}
			query.Set(f.name, v.Index(0).String())
		default:
			query.Set(f.name, v.String())
		}
	}
	return query, nil
}

// Complete sets the fields of a reply that its JSON leaves out to those of its request.
func Complete(reply reflect.Value, request any) {
	of := reflect.ValueOf(request)
	for f := range reply.Type().Fields() {
		if f.Tag.Get("json") != "-" || !f.IsExported() {
			continue
		}
		if given := of.FieldByName(f.Name); given.IsValid() && given.Type() == f.Type {
			reply.FieldByIndex(f.Index).Set(given)
		}
	}
}

// field is a field with a tag.
type field struct {
	reflect.StructField
	name string
}

// fieldsOf returns the fields of a struct that have a tag, without those of embedded ones.
func fieldsOf(t reflect.Type, tag string) (all []field) {
	for f := range t.Fields() {
		if name := f.Tag.Get(tag); name != "" {
			all = append(all, field{f, name})
		}
	}
	return all
}
