package near

import (
	"strings"
	"unicode/utf8"
)

// leastGuessed is the length of the shortest word that is taken for a typing error: a shorter
// one resembles too many.
const leastGuessed = 5

// mostEdits is the number of letters that may be wrong.
const mostEdits = 2

// Word returns the word that a typed one may have meant, or "". It is the one with the fewest
// wrong letters, else the first that begins with the typed one. Case does not count.
func Word(typed string, words []string) string {
	const longest = 64 // of what is compared: a typed word may have any length
	if n := utf8.RuneCountInString(typed); n < leastGuessed || n > longest {
		return ""
	}
	typed = strings.ToLower(typed)
	best, edits := "", mostEdits+1
	begins := ""
	for _, word := range words {
		lower := strings.ToLower(word)
		if n := distance([]rune(typed), []rune(lower)); n < edits {
			best, edits = word, n
		}
		if begins == "" && strings.HasPrefix(lower, typed) {
			begins = word
		}
	}
	if best != "" {
		return best
	}
	return begins
}

// distance returns the number of letters to insert, delete or replace to make b of a.
func distance(a, b []rune) int {
	row := make([]int, len(b)+1) // of the letters of a so far
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			replaced := diagonal
			if x != y {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
