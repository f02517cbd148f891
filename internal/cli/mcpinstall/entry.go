package mcpinstall

import (
	"path/filepath"
	"reflect"
	"slices"
)

// serverName is the name of troupe among the servers of a host.
const serverName = "troupe"

// member is a key of the entry and its value: a string or a []string.
type member struct {
	key   string
	value any
}

// entry lists the members that an installation sets. Other members are the user's.
type entry []member

// isIn reports whether a decoded entry has these members.
func (e entry) isIn(found map[string]any) bool {
	return !slices.ContainsFunc(e, func(m member) bool { return !reflect.DeepEqual(found[m.key], decoded(m.value)) })
}

// over returns the entry for the place of a found one: with our program, and else what the user has
// there, such as further flags of troupe mcp.
func (e entry) over(found map[string]any) entry {
	kept := slices.Clone(e)
	for i, m := range kept {
		was, ok := undecoded(found[m.key])
		list, _ := was.([]string)
		ours, _ := m.value.([]string)
		switch {
		case !ok:
		case m.key == "command" && ours != nil:
			if len(list) > 1 && list[1] == ours[1] {
				kept[i].value = append(ours[:1:1], list[1:]...)
			}
		case m.key == "args":
			if len(list) > 0 && list[0] == ours[0] {
				kept[i].value = list
			}
		case m.key != "command":
			kept[i].value = was
		}
	}
	return kept
}

// undecoded returns a decoded string or list of strings as a member has it.
func undecoded(value any) (any, bool) {
	list, is := value.([]any)
	if !is {
		s, ok := value.(string)
		return s, ok
	}
	all := make([]string, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, false
		}
		all[i] = s
	}
	return all, true
}

// decoded returns a value as the decoders of JSON and TOML return it.
func decoded(value any) any {
	list, ok := value.([]string)
	if !ok {
		return value
	}
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return all
}

// startsTroupe reports whether a decoded entry starts this program, or one named troupe.
// Another entry with our name is not ours.
func startsTroupe(found map[string]any, program string) bool {
	starts, ok := found["command"].(string)
	if list, is := found["command"].([]any); is && len(list) > 0 {
		starts, ok = list[0].(string)
	}
	return ok && (starts == program || filepath.Base(starts) == serverName)
}

// serverIn returns the entry with our name in a decoded file, and whether there is one.
func serverIn(file map[string]any, servers string) (found any, ok bool) {
	all, _ := file[servers].(map[string]any)
	found, ok = all[serverName]
	return found, ok
}

// without returns a decoded file without our entry, and without the object of the servers if
// nothing else is in it: what an edit must not change.
func without(file map[string]any, servers string) map[string]any {
	rest := map[string]any{}
	for key, value := range file {
		if all, ok := value.(map[string]any); ok && key == servers {
			others := map[string]any{}
			for name, server := range all {
				if name != serverName {
					others[name] = server
				}
			}
			if len(others) == 0 {
				continue
			}
			value = others
		}
		rest[key] = value
	}
	return rest
}
