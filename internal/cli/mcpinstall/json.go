package mcpinstall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonFormat edits JSON. Whitespace, order and comments of the rest stay.
type jsonFormat struct {
	comments bool // the host reads comments and trailing commas
}

// parse parses a text. An empty one is an empty object.
func (f jsonFormat) parse(text []byte) (hujson.Value, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{\n}\n")
	}
	root, err := hujson.Parse(slices.Clone(text)) // an edit of the tree writes into the text
	if err != nil {
		return root, err
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return root, errors.New("it is not an object")
	}
	if !f.comments && !root.IsStandard() {
		return root, errors.New("it has a comment or a trailing comma, which the host does not read")
	}
	return root, nil
}

// decode returns the values of a text.
func (f jsonFormat) decode(text []byte) (map[string]any, error) {
	root, err := f.parse(text)
	if err != nil {
		return nil, err
	}
	root.Standardize()
	var file map[string]any
	return file, json.Unmarshal(root.Pack(), &file)
}

// set sets the members of our entry.
func (f jsonFormat) set(text []byte, servers string, e entry) ([]byte, error) {
	root, err := f.parse(text)
	if err != nil {
		return nil, err
	}
	at := jsonPlace{object: root.Value.(*hujson.Object), newline: "\n", unit: "  "}
	if bytes.Contains(text, []byte("\r\n")) {
		at.newline = "\r\n"
	}
	if indent, lines := at.indent(); lines && indent != "" {
		at.unit = indent
	}
	for _, key := range []string{servers, serverName} {
		if at, err = at.below(key); err != nil {
			return nil, err
		}
	}
	for _, m := range e {
		if err := at.set(m.key, m.value); err != nil {
			return nil, err
		}
	}
	return root.Pack(), nil
}

// remove removes our entry.
func (f jsonFormat) remove(text []byte, servers string) ([]byte, error) {
	root, err := f.parse(text)
	if err != nil {
		return nil, err
	}
	at := jsonPlace{object: root.Value.(*hujson.Object)}
	i, err := at.find(servers)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		return nil, errors.New("it has no " + servers)
	}
	object, ok := at.object.Members[i].Value.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("its " + servers + " is not an object")
	}
	at = jsonPlace{object: object}
	if i, err = at.find(serverName); err != nil {
		return nil, err
	}
	if i < 0 {
		return nil, errors.New("it has no server " + serverName)
	}
	at.remove(i)
	return root.Pack(), nil
}

// jsonPlace is an object in which members are set.
type jsonPlace struct {
	object  *hujson.Object
	outer   string // indent of the line on which the object begins
	unit    string // indent of one level
	newline string
}

// indent returns the indent of the object's members, and whether each has a line of its own.
func (p jsonPlace) indent() (indent string, lines bool) {
	if len(p.object.Members) == 0 {
		return p.outer + p.unit, true
	}
	before := string(p.object.Members[0].Name.BeforeExtra)
	i := strings.LastIndexByte(before, '\n')
	return before[i+1:], i >= 0
}

// find returns the index of a member, or -1. It refuses a key that is there twice: an edit of one
// leaves the other, which may be the one that counts.
func (p jsonPlace) find(key string) (int, error) {
	at := -1
	for i, m := range p.object.Members {
		if name, ok := m.Name.Value.(hujson.Literal); !ok || name.String() != key {
			continue
		}
		if at >= 0 {
			return -1, fmt.Errorf("it has the key %s twice in one object; remove one of them", key)
		}
		at = i
	}
	return at, nil
}

// below returns the object of a member, which it adds if there is none.
func (p jsonPlace) below(key string) (jsonPlace, error) {
	indent, lines := p.indent()
	if !lines {
		indent = p.outer
	}
	i, err := p.find(key)
	if err != nil {
		return p, err
	}
	if i < 0 {
		p.add(key, &hujson.Object{AfterExtra: hujson.Extra(p.newline + indent)})
		i = len(p.object.Members) - 1
	}
	object, ok := p.object.Members[i].Value.Value.(*hujson.Object)
	if !ok {
		return p, errors.New("its " + key + " is not an object")
	}
	if len(object.Members) == 0 && !bytes.ContainsRune(object.AfterExtra, '\n') {
		object.AfterExtra = append(object.AfterExtra, p.newline+indent...)
	}
	return jsonPlace{object: object, outer: indent, unit: p.unit, newline: p.newline}, nil
}

// set sets a member to a string or a list of strings, unless it has that value.
func (p jsonPlace) set(key string, value any) error {
	var literal hujson.ValueTrimmed
	switch v := value.(type) {
	case string:
		literal = hujson.String(v)
	case []string:
		list := &hujson.Array{}
		for i, s := range v {
			element := hujson.Value{Value: hujson.String(s)}
			if i > 0 {
				element.BeforeExtra = hujson.Extra(" ")
			}
			list.Elements = append(list.Elements, element)
		}
		literal = list
	}
	i, err := p.find(key)
	if err != nil {
		return err
	}
	if i < 0 {
		p.add(key, literal)
		return nil
	}
	at := &p.object.Members[i].Value
	was, is := hujson.Value{Value: at.Value}.Clone(), hujson.Value{Value: literal}.Clone()
	was.Minimize()
	is.Minimize()
	if !bytes.Equal(was.Pack(), is.Pack()) {
		at.Value = literal
	}
	return nil
}

// add appends a member. What follows the last one, such as a comment on its line, stays with
// it. A trailing comma stays one.
func (p jsonPlace) add(key string, value hujson.ValueTrimmed) {
	indent, lines := p.indent()
	trailing := string(p.object.AfterExtra)
	rest := strings.TrimRight(trailing, " \t\r\n")
	end := trailing[len(rest):]
	if i := strings.LastIndexByte(end, '\n'); i >= 0 {
		end = p.newline + end[i+1:]
	}
	before := rest + p.newline + indent
	if !lines {
		before = rest + " "
	}
	m := hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: hujson.Extra(before), Value: hujson.String(key)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: value},
	}
	if n := len(p.object.Members); n > 0 && p.object.Members[n-1].Value.AfterExtra != nil {
		m.Value.AfterExtra = hujson.Extra{}
	}
	p.object.Members = append(p.object.Members, m)
	p.object.AfterExtra = hujson.Extra(end)
}

// remove removes a member. What stands before it, such as a comment, stays. A trailing comma
// stays one, and none is left where there was none.
func (p jsonPlace) remove(i int) {
	gone := p.object.Members[i]
	last := i == len(p.object.Members)-1
	p.object.Members = slices.Delete(p.object.Members, i, i+1)
	before := strings.TrimRight(string(gone.Name.BeforeExtra), " \t\r\n")
	after := &p.object.AfterExtra
	if !last {
		after = &p.object.Members[i].Name.BeforeExtra
	} else if i > 0 {
		value := &p.object.Members[i-1].Value
		switch trailing := gone.Value.AfterExtra != nil; {
		case trailing && value.AfterExtra == nil:
			value.AfterExtra = hujson.Extra{}
		case !trailing:
			before = strings.TrimRight(string(value.AfterExtra), " \t\r\n") + before
			value.AfterExtra = nil
		}
	}
	rest := string(*after)
	switch {
	case len(p.object.Members) == 0 && before+strings.TrimSpace(rest) == "":
		rest = "" // {}
	case before != "" && !strings.HasPrefix(strings.TrimLeft(rest, " \t\r"), "\n"):
		before += "\n" // it may end with a comment of a line
	}
	*after = hujson.Extra(before + rest)
}
