package shelltext

import (
	"regexp"
	"strings"
)

// maxGateText bounds the part of an unparsable text that is checked, in bytes.
const maxGateText = 256 << 10

const hiddenPattern = `\$\{(![A-Za-z_]\w*|\w+(\[[^]}]*\])?@P)\}`

// checkWords does the same as CheckKills for a text that cannot be parsed.
func checkWords(text string, pids Protected) error {
	plain := unquoted(text[:min(len(text), maxGateText)])
	for _, segment := range strings.FieldsFunc(plain, func(r rune) bool { return strings.ContainsRune(";&|\n(){}`", r) }) {
		if err := pids.check(commandWords(segment)); err != nil {
			return err
		}
	}
	if hidden := regexp.MustCompile(hiddenPattern).FindString(text[:min(len(text), maxGateText)]); hidden != "" {
		return &KillBlocked{Reason: GateExpansion, Name: shortened(hidden)}
	}
	return nil
}

// unquoted returns a text without its quoted parts. An unclosed quote quotes nothing: a
// false alarm is better than a missed accident.
func unquoted(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			i++
		case '\'', '"':
			if end := strings.IndexByte(text[i+1:], c); end >= 0 {
				i += end + 1
			}
			b.WriteByte('_')
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// keyword reports whether a command follows a word without a separator.
func keyword(word string) bool {
	switch word {
	case "if", "then", "elif", "else", "while", "until", "do", "!", "time":
		return true
	}
	return false
}

// commandWords returns the words of a command after its assignments.
func commandWords(segment string) []Word {
	fields := strings.Fields(segment)
	for len(fields) > 0 && (keyword(fields[0]) || strings.Contains(fields[0], "=")) {
		fields = fields[1:]
	}
	words := make([]Word, len(fields))
	for i, f := range fields {
		words[i] = Word{Text: f, Literal: !strings.Contains(f, "$")}
	}
	return words
}
