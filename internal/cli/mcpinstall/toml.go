package mcpinstall

import (
	"bytes"
	"errors"
	"slices"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlFormat edits TOML. Our entry is a table of its own; the text around it stays.
type tomlFormat struct{}

// errNotATable refuses an entry in another form of TOML.
var errNotATable = errors.New("its entry of troupe is not a table of its own")

// decode returns the values of a text.
func (tomlFormat) decode(text []byte) (map[string]any, error) {
	file := map[string]any{}
	return file, toml.Unmarshal(text, &file)
}

// set sets the members of our entry.
func (f tomlFormat) set(text []byte, servers string, e entry) ([]byte, error) {
	tables, err := tomlTables(text, servers)
	if err != nil {
		return nil, err
	}
	own := slices.IndexFunc(tables, func(t tomlTable) bool { return t.depth == 0 })
	if own < 0 {
		file, err := f.decode(text)
		if err != nil {
			return nil, err
		}
		if _, ok := serverIn(file, servers); ok {
			return nil, errNotATable
		}
		return appendTable(text, servers, e)
	}
	t := tables[own]
	for _, m := range slices.Backward(e) { // from the end of the text: earlier places stay valid
		line, err := tomlLine(m)
		if err != nil {
			return nil, err
		}
		at, ok := t.keys[m.key]
		if !ok {
			at = span{t.headerEnd, t.headerEnd}
		} else {
			line = bytes.TrimRight(line, "\n")
		}
		text = slices.Concat(text[:at.from], line, text[at.to:])
		if tables, err = tomlTables(text, servers); err != nil {
			return nil, err
		}
		t = tables[own]
	}
	return text, nil
}

// remove removes the table of our entry and the tables below it.
func (tomlFormat) remove(text []byte, servers string) ([]byte, error) {
	tables, err := tomlTables(text, servers)
	if err != nil {
		return nil, err
	}
	if len(tables) == 0 {
		return nil, errNotATable
	}
	for _, t := range slices.Backward(tables) {
		before, after := text[:t.from], text[t.to:]
		switch {
		case len(before) == 0:
			after = bytes.TrimPrefix(after, []byte("\n"))
		case bytes.HasSuffix(before, []byte("\n\n")) && (len(after) == 0 || after[0] == '\n'):
			before = before[:len(before)-1] // of two blank lines one stays
		}
		text = slices.Concat(before, after)
	}
	return text, nil
}

// appendTable appends our table to a text.
func appendTable(text []byte, servers string, e entry) ([]byte, error) {
	text = slices.Clone(text)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	if len(text) > 0 {
		text = append(text, '\n')
	}
	text = append(text, "["+servers+"."+serverName+"]\n"...)
	for _, m := range e {
		line, err := tomlLine(m)
		if err != nil {
			return nil, err
		}
		text = append(text, line...)
	}
	return text, nil
}

// tomlLine returns the line of a member.
func tomlLine(m member) ([]byte, error) { return toml.Marshal(map[string]any{m.key: m.value}) }

// span is a range of bytes of a text.
type span struct{ from, to int }

// tomlTable is the table of our entry, or one below it.
type tomlTable struct {
	span          // from its header to the end of its last line
	depth     int // 0: the entry itself
	headerEnd int // where the line after the header begins
	keys      map[string]span
}

// tomlTables returns our table and those below it, in their order.
func tomlTables(text []byte, servers string) ([]tomlTable, error) {
	var p unstable.Parser
	p.Reset(text)
	var tables []tomlTable
	inside := false
	for p.NextExpression() {
		switch node := p.Expression(); node.Kind {
		case unstable.Table, unstable.ArrayTable:
			path, first, last := tomlKey(node)
			inside = len(path) >= 2 && path[0] == servers && path[1] == serverName
			if inside {
				t := tomlTable{depth: len(path) - 2, headerEnd: lineEnd(text, last), keys: map[string]span{}}
				t.from, t.to = lineStart(text, first), t.headerEnd
				tables = append(tables, t)
			}
		case unstable.KeyValue:
			if !inside {
				continue
			}
			t := &tables[len(tables)-1]
			at := span{int(node.Raw.Offset), int(node.Raw.Offset + node.Raw.Length)}
			t.to = lineEnd(text, at.to)
			if path, _, _ := tomlKey(node); len(path) == 1 {
				t.keys[path[0]] = at
			}
		}
	}
	return tables, p.Error()
}

// tomlKey returns the parts of the key of a node, and where its first part begins and its last one ends.
func tomlKey(node *unstable.Node) (path []string, first, last int) {
	for it := node.Key(); it.Next(); {
		key := it.Node()
		if len(path) == 0 {
			first = int(key.Raw.Offset)
		}
		last = int(key.Raw.Offset + key.Raw.Length)
		path = append(path, string(key.Data))
	}
	return path, first, last
}

// lineStart returns where the line of a place begins.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// lineEnd returns where the line after that of a place begins.
func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}
