package opencode

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"troupe/internal/artifact"
)

func FuzzBannedWord(f *testing.F) {
	for _, seed := range []string{"curl x", "a && curl", "echo 'curl", "$(curl)", "((((", ""} {
		f.Add(seed)
	}
	banned := Original().Banned
	f.Fuzz(func(t *testing.T, command string) {
		if strings.TrimSpace(command) == "" {
			return // refused before
		}
		word := bannedWord(command, banned)
		if word != "" && !slices.Contains(banned, strings.ToLower(word)) {
			t.Fatalf("%q of %q is not banned", word, command)
		}
		if waitsOnly(command) && !strings.Contains(command, "leep") && !strings.Contains(command, "wait") && !strings.ContainsAny(command, `\"'`) {
			t.Fatalf("%q waits", command)
		}
	})
}

func FuzzPreview(f *testing.F) {
	f.Add("a\nb\n", 3000)
	f.Add(strings.Repeat("é", 100), 2000)
	s := Settings{tokens: 20_000}.withDefaults()
	f.Fuzz(func(t *testing.T, piece string, n int) {
		if len(piece) > 1000 || n < 0 || n > 100_000 {
			return
		}
		all := strings.Repeat(piece, min(n, 1+200_000/(len(piece)+1)))
		lines := int64(strings.Count(all, "\n"))
		total := lines
		if all != "" && !strings.HasSuffix(all, "\n") {
			total++
		}
		ends, err := artifact.ReadHeadTail(strings.NewReader(all), int64(len(all)), total, s.ends(lines))
		if err != nil {
			t.Fatal(err)
		}
		text := s.preview(long{label: "stdout", path: "/f", ends: ends})
		if !utf8.ValidString(text) || len(text) > s.net() {
			t.Fatalf("%d bytes, valid: %v", len(text), utf8.ValidString(text))
		}
	})
}
