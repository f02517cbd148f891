package faults

import (
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlLines returns a function that finds the line of a field of the nth rule, from 0; the line
// of the rule's table if the field is not set; 0 if there is none.
func tomlLines(text []byte) func(rule int, field string) int {
	return func(rule int, field string) int {
		p, nth, line := &unstable.Parser{}, -1, 0
		for p.Reset(text); p.NextExpression(); {
			node := p.Expression()
			switch node.Kind {
			case unstable.ArrayTable:
				if nth++; nth > rule {
					return line
				}
				if nth == rule {
					_, line = keyOf(p, node)
				}
			case unstable.KeyValue:
				if name, at := keyOf(p, node); nth == rule && name == field {
					return at
				}
			}
		}
		return line
	}
}

// keyOf returns the last part of an expression's key, and its line.
func keyOf(p *unstable.Parser, node *unstable.Node) (name string, line int) {
	for k := node.Key(); k.Next(); {
		name, line = string(k.Node().Data), p.Shape(k.Node().Raw).Start.Line
	}
	return name, line
}
