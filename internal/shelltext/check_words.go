package shelltext

import (
	"regexp"
	"strings"
)

// maxGateText is how much of a text is judged that is not parsed, in bytes.
const maxGateText = 256 << 10

const hiddenPattern = `\$\{(![A-Za-z_]\w*|\w+(\[[^]}]*\])?@P)\}`

// checkWords is Gate by the words of a text.
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

// unquoted is a text without what is between quotes. A quote that is not closed
// quotes nothing: better an accident that is not one is stopped than one missed.
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

// keyword says that a word stands before a command without a sign between them.
func keyword(word string) bool {
	switch word {
	case "if", "then", "elif", "else", "while", "until", "do", "!", "time":
		return true
	}
	return false
}

// commandWords are the words of a command behind its assignments.
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
