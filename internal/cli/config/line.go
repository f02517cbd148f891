package config

import (
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"troupe/messages"
)

// SettingError is the error of a setting whose value is of its type, and wrong: the
// decoder, which knows the lines, has passed it.
func SettingError(path, text, setting, what string) *messages.Error {
	return TableError(path, text, setting, 1, what)
}

// TableError is that of one of a list of tables, counted from 1.
func TableError(path, text, setting string, nth int, what string) *messages.Error {
	line := lineOf(text, setting, nth)
	if line == 0 {
		what = "cannot be used: " + what
	}
	return configError(path, line, what)
}

// lineOf is the line in which a setting stands, as "limits.starts", or the nth of a list
// of tables; 0: it does not.
func lineOf(text, setting string, nth int) int {
	p := &unstable.Parser{}
	p.Reset([]byte(text))
	table := ""
	for p.NextExpression() {
		node := p.Expression()
		if node.Kind == unstable.Comment {
			continue
		}
		if line := lineIn(p, node, table, setting); line > 0 {
			if nth--; nth == 0 || node.Kind != unstable.ArrayTable {
				return line
			}
		}
		if node.Kind != unstable.KeyValue {
			table, _ = keyOf(p, node, "")
		}
	}
	return 0
}

// lineIn looks at one table or setting, and at what is in its braces.
func lineIn(p *unstable.Parser, node *unstable.Node, table, setting string) int {
	if node.Kind != unstable.KeyValue {
		table = ""
	}
	key, line := keyOf(p, node, table)
	if key == setting {
		return line
	}
	if node.Kind == unstable.KeyValue && node.Value().Kind == unstable.InlineTable {
		for in := node.Value().Children(); in.Next(); {
			if line := lineIn(p, in.Node(), key, setting); line > 0 {
				return line
			}
		}
	}
	return 0
}

func keyOf(p *unstable.Parser, node *unstable.Node, table string) (key string, line int) {
	var parts []string
	if table != "" {
		parts = append(parts, table)
	}
	for k := node.Key(); k.Next(); {
		parts = append(parts, string(k.Node().Data))
		line = p.Shape(k.Node().Raw).Start.Line
	}
	return strings.Join(parts, "."), line
}
