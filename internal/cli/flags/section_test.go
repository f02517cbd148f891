package flags

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The Markdown of the documents is read as blocks: what folds, what stands, and the tables.
func TestSectionsAreBlocks(t *testing.T) {
	page := strings.ReplaceAll(`# Page

## First
One *word* of
two lines, see [the other](other.md#part) and [this.md](this.md), [here](#first).

| Name | Default | Meaning |
|---|---|---|
| "a", "b|" | see [x](https://example.com) | says [what](../code.go) |
| "c" | | "*" |

### Part
- an item
  of two lines
- another
  and [a
  link](other.md)

"""
- code
"""
end

## Second
`, `"`, "`")
	page = strings.ReplaceAll(page, "b|", `b\|`)
	require.Equal(t, []Block{
		{Paragraph, "", "One *word* of two lines, see the other (docs/other.md) and docs/this.md, here."},
		{Row, "`a`, `b|` (default see x)", "says what (code.go)"},
		{Row, "`c`", "`*`"},
		{Heading, "", "Part"},
		{Item, "", "an item of two lines"},
		{Item, "", "another and a link (docs/other.md)"},
		{Verbatim, "", "- code\n"},
		{Paragraph, "", "end"},
	}, Section(page, "First"))
	require.Empty(t, Section(page, "Second"))
	require.Nil(t, Section(page, "Third"))
	require.Equal(t, "a word, *, and b**", plain("a *word*, `*`, **and** `b**`"))
}

// Each topic has a text: no section of it was renamed in the documents.
func TestEachTopicHasItsSections(t *testing.T) {
	for _, topic := range Topics() {
		for _, p := range topic.parts {
			require.NotEmpty(t, Section(p.page, p.title), "%s: %s", topic.Name, p.title)
		}
		require.NotContains(t, topic.Text(), "](")
	}
}

func TestTextsAreWrapped(t *testing.T) {
	word := strings.Repeat("ö", 39)
	require.Equal(t, "- "+word+"\n  "+word+" x\n", wrapped(word+" "+word+"\n x", "- ", "  "))
	require.Equal(t, strings.Repeat("l", 90)+"\nx\n", wrapped(strings.Repeat("l", 90)+" x", "", ""))
}
