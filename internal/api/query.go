package api

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/messages"
)

// Query are the parameters of a request.
type Query url.Values

// Query reads the parameters of a request. It refuses those that the route does not have.
func (r Route) Query(raw string) (Query, *messages.Error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, messages.Invalid("query", "cannot parse the query: "+err.Error())
	}
	for name, values := range query {
		switch {
		case !slices.Contains(r.known, name):
			return nil, unknown(name, "parameter", r.known)
		case len(values) != 1:
			return nil, messages.Invalid(name, name+" is given twice")
		}
	}
	return Query(query), nil
}

// Has reports whether a parameter was given.
func (q Query) Has(name string) bool { return url.Values(q).Has(name) }

// Text returns a parameter, "" if it is absent.
func (q Query) Text(name string) string { return url.Values(q).Get(name) }

// Flag returns a parameter that is true or false.
func (q Query) Flag(name string) (bool, error) {
	switch q.Text(name) {
	case "":
		if !q.Has(name) {
			return false, nil
		}
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, messages.Invalid(name, name+" must be true or false")
}

// Number returns a parameter from least to most, or absent without it.
func (q Query) Number(name string, absent, least, most int64) (int64, error) {
	if !q.Has(name) {
		return absent, nil
	}
	n, err := strconv.ParseInt(q.Text(name), 10, 64)
	if err != nil || n < least || n > most {
		return 0, messages.Invalid(name, fmt.Sprintf("%s must be a whole number from %d to %d", name, least, most))
	}
	return n, nil
}

// grace returns a parameter that is a grace: 0 if it is absent, negative for none.
func (q Query) grace(name string) (time.Duration, error) {
	ms, err := q.Number(name, 0, 0, int64(messages.MaxDuration/time.Millisecond))
	if err == nil && ms == 0 && q.Has(name) {
		return -1, nil
	}
	return time.Duration(ms) * time.Millisecond, err
}

// Read returns the request of a route from the values of its path, its query and its body.
func (r Route) Read(from *http.Request, query Query, body []byte) (any, error) {
	into := reflect.New(reflect.TypeOf(r.Request))
	into.Elem().Set(reflect.ValueOf(r.Request))
	if r.HasBody() {
		if err := Decode(body, into.Interface()); err != nil {
			return nil, err
		}
	}
	for _, f := range r.paths {
		into.Elem().FieldByIndex(f.Index).SetString(from.PathValue(f.name))
	}
	for _, f := range r.queries {
		if err := query.set(into.Elem().FieldByIndex(f.Index), f.name); err != nil {
			return nil, err
		}
	}
	return into.Elem().Interface(), nil
}

// set sets a field to a parameter. A field whose parameter is absent keeps the value of its route.
func (q Query) set(field reflect.Value, name string) error {
	if !q.Has(name) {
		return nil
	}
	switch field.Kind() {
	case reflect.Bool:
		is, err := q.Flag(name)
		field.SetBool(is)
		return err
	case reflect.Int:
		n, err := q.Number(name, 0, 1, messages.MaxListed)
		field.SetInt(n)
		return err
	case reflect.Int64:
		d, err := q.grace(name)
		field.SetInt(int64(d))
		return err
	case reflect.Slice:
		if text := q.Text(name); text != "" {
			one := reflect.MakeSlice(field.Type(), 1, 1)
			one.Index(0).SetString(text)
			field.Set(one)
		}
		return nil
	default:
		field.SetString(q.Text(name))
		return nil
	}
}

// Parameters returns the parameters of a route: those of its request, then its own. Type and
// description are those of the document.
func (r Route) Parameters() (all []Param) {
	for _, part := range pathParams(r.Path) {
		all = append(all, Param{In: "path", Name: part, Type: "string"})
	}
	for _, f := range r.queries {
		kind := map[reflect.Kind]string{reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer"}[f.Type.Kind()]
		all = append(all, Param{In: "query", Name: f.name, Type: cmp.Or(kind, "string")})
	}
	return append(all, r.Params...)
}

// pathParams returns the names in a path.
func pathParams(path string) (names []string) {
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(part, "{") {
			names = append(names, strings.TrimSuffix(strings.Trim(part, "{}"), "..."))
		}
	}
	return names
}
