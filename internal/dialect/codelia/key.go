package codelia

import (
	"fmt"
	"slices"
	"strings"
)

// maxLabel bounds a label, in characters.
const maxLabel = 80

// keyDigits is how many characters of a task's id its key has. They are random.
const keyDigits = 8

// freeKey returns a key for a task that no other one has: its label in words of lower-case
// letters and digits, and the end of its id. The caller holds s.mu.
func (s *Session) freeKey(t *task) string {
	id := strings.ToLower(t.id)
	base := keyBase(t.label)
	key := base + "-" + id[max(0, len(id)-keyDigits):]
	if slices.ContainsFunc(s.tasks, func(other *task) bool { return other.key == key }) {
		return base + "-" + id
	}
	return key
}

func keyBase(label string) string {
	words := strings.FieldsFunc(strings.ToLower(label), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	if len(words) == 0 {
		return "shell"
	}
	return strings.Join(words, "-")
}

// named returns the task with a key.
func (s *Session) named(key string) (*task, *Error) {
	key = strings.TrimSpace(key)
	if key == "" {
		return nil, invalid(textKey)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.IndexFunc(s.tasks, func(t *task) bool { return t.key == key }); at >= 0 {
		return s.tasks[at], nil
	}
	return nil, &Error{Code: CodeInvalidParams, Message: fmt.Sprintf(textKeyUnknown, key)}
}
