package near

import "testing"

// The word with the fewest wrong letters is meant, else one that begins with the typed one.
// Short words, and those with more wrong letters, mean none.
func TestTheNearestWordIsMeant(t *testing.T) {
	words := []string{"timeout", "time", "timeouts_of_all", "background", "wait_seconds", "größe", "cmd"}
	for typed, want := range map[string]string{
		"timout": "timeout", "timeuot": "timeout", "TIMEOUT": "timeout", "timeou": "timeout", "timeouts": "timeout", "timeouts_": "timeout", "timeouts_o": "timeouts_of_all",
		"backgroud": "background", "backg": "background", "waitSeconds": "wait_seconds", "wait_s": "wait_seconds", "grösse": "größe",
		"tme": "", "tim": "", "cmds": "", "": "", "colour": "", "seconds": "", "in_the_background": "",
	} {
		if got := Word(typed, words); got != want {
			t.Errorf("%s: got %q, want %q", typed, got, want)
		}
	}
	if got := Word(string(make([]byte, 1<<20)), words); got != "" {
		t.Errorf("a megabyte means %q", got)
	}
}

func TestLettersAreCounted(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"same", "same", 0}, {"ab", "ba", 2},
	} {
		if got := distance([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("%q and %q: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
