package shelltext

import (
	"path"
	"strconv"
	"strings"
)

// wrapper is a program that runs the command after its own options.
type wrapper struct {
	valued  string // short options whose value is the next word
	leading int    // own arguments before the command
}

func wrapping(name string) (w wrapper, ok bool) {
	switch name {
	case "sudo":
		return wrapper{valued: "ughpCTrtUDR"}, true
	case "doas", "env":
		return wrapper{valued: "uCS"}, true
	case "nice":
		return wrapper{valued: "n"}, true
	case "ionice":
		return wrapper{valued: "cnp"}, true
	case "time":
		return wrapper{valued: "fo"}, true
	case "stdbuf":
		return wrapper{valued: "ioe"}, true
	case "xargs":
		return wrapper{valued: "InPLdaEs"}, true
	case "exec":
		return wrapper{valued: "a"}, true
	case "timeout":
		return wrapper{valued: "ks", leading: 1}, true
	case "chroot", "taskset":
		return wrapper{leading: 1}, true
	case "command", "builtin", "nohup", "setsid", "busybox":
		return wrapper{}, true
	}
	return wrapper{}, false
}

// withoutWrappers returns the command that runs in the end; nil if none does, as with
// `command -v`.
func withoutWrappers(words []Word) []Word {
	for {
		w, ok := wrapping(baseName(words))
		if !ok {
			return words
		}
		if baseName(words) == "command" && len(words) > 1 && strings.HasPrefix(words[1].Text, "-") && strings.ContainsAny(words[1].Text, "vV") {
			return nil
		}
		words = w.command(words[1:])
	}
}

func (w wrapper) command(words []Word) []Word {
	leading := w.leading
	for len(words) > 0 {
		text := words[0].Text
		switch {
		case text == "--":
			words = words[1:]
			return words[min(leading, len(words)):]
		case len(text) > 1 && text[0] == '-':
			takes := text[1] != '-' && strings.IndexByte(w.valued, text[len(text)-1]) >= 0
			words = words[1:]
			if takes && len(words) > 0 {
				words = words[1:]
			}
		case strings.Contains(text, "="):
			words = words[1:]
		case leading > 0:
			leading--
			words = words[1:]
		default:
			return words
		}
	}
	return nil
}

// baseName returns the name of a command without its directory, "" if it is not
// literal.
func baseName(words []Word) string {
	if len(words) == 0 || !words[0].Literal || words[0].Text == "" {
		return ""
	}
	return path.Base(words[0].Text)
}

// killTargets returns the numbers that kill signals. listing means that it only lists
// signals.
func killTargets(words []Word) (pids []int, listing bool) {
	options := true
	for i := 0; i < len(words); i++ {
		text := words[i].Text
		pid, err := strconv.Atoi(text)
		switch {
		case options && text == "--":
			options = false
		case options && (text == "-s" || text == "-n" || text == "--signal" || text == "-q"):
			i++ // its value
		case options && i == 0 && (text == "-l" || text == "-L" || strings.HasPrefix(text, "--list") || text == "--table" || text == "--help"):
			return nil, true
		case options && i == 0 && strings.HasPrefix(text, "-"): // signal
		case err == nil && words[i].Literal:
			pids = append(pids, pid)
		}
	}
	return pids, false
}

// runText returns the literal text that a command passes to a shell, including the
// current one.
func runText(words []Word) (string, bool) {
	words = withoutWrappers(words)
	switch baseName(words) {
	case "":
		return "", false
	case "eval":
		var text []string
		for _, w := range words[1:] {
			if !w.Literal {
				return "", false
			}
			text = append(text, w.Text)
		}
		return strings.Join(text, " "), true
	case "trap":
		if len(words) > 2 && words[1].Literal {
			return words[1].Text, true
		}
		return "", false
	}
	return shellText(words)
}
