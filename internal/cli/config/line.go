package config

import (
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"troupe/messages"
)

// SettingError returns the error of an invalid value that the decoder accepted. It finds the
// line of the setting in text.
func SettingError(path, text, setting, what string) *messages.Error {
	return TableError(path, text, setting, 1, what)
}

// TableError returns the error of the nth table of a list, counted from 1.
func TableError(path, text, setting string, nth int, what string) *messages.Error {
	line := lineOf(text, setting, nth)
	if line == 0 {
		what = "cannot be used: " + what
	}
	return configError(path, line, what)
}

// lineOf returns the line of a setting such as "limits.starts", or of the nth table of a
// list; 0 if it is absent.
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

// lineIn returns the line of setting in one expression, inline tables included; 0 if it is
// absent.
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
