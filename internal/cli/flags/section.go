package flags

import "strings"

// Kind is what a Block of a page is.
type Kind int

// The kinds. The documents have no others.
const (
	Paragraph Kind = iota
	Heading        // of a part of the section
	Item           // of a list
	Row            // of a table: Term and Text
	Verbatim       // lines that stand as they are
)

// Block is a part of a page. Its texts are Markdown as the page has them, but links: those name
// the page they lead to.
type Block struct {
	Kind Kind
	Term string // the first column of a row, and in parentheses the ones between
	Text string
}

// Section returns the blocks of a section of a page, nil if there is none of that title.
func Section(page, title string) []Block {
	_, text, found := strings.Cut(page, "\n## "+title+"\n")
	if !found {
		return nil
	}
	text, _, _ = strings.Cut(text, "\n## ")
	r := &blockReader{}
	for line := range strings.Lines(text) {
		r.line(strings.TrimRight(line, "\n"))
	}
	for i, b := range r.blocks {
		if b.Kind != Verbatim {
			r.blocks[i].Term, r.blocks[i].Text = links(b.Term), links(b.Text)
		}
	}
	return r.blocks
}

// blockReader makes blocks of lines.
type blockReader struct {
	blocks   []Block
	columns  []string // of the table that is read
	fenced   bool     // in a block of code
	extended bool     // the next line may belong to the last block
}

func (r *blockReader) line(line string) {
	switch last := len(r.blocks) - 1; {
	case strings.HasPrefix(line, "```"):
		r.fenced, r.extended = !r.fenced, false
		if r.fenced {
			r.add(Block{Kind: Verbatim})
		}
	case r.fenced:
		r.blocks[last].Text += line + "\n"
	case line == "":
		r.columns, r.extended = nil, false
	case strings.HasPrefix(line, "### "):
		r.add(Block{Kind: Heading, Text: line[len("### "):]})
		r.extended = false
	case strings.HasPrefix(line, "|"):
		r.row(cells(line))
	case strings.HasPrefix(line, "- "):
		r.add(Block{Kind: Item, Text: line[len("- "):]})
	case r.extended:
		r.blocks[last].Text += " " + strings.TrimSpace(line)
	default:
		r.add(Block{Kind: Paragraph, Text: line})
	}
}

func (r *blockReader) add(b Block) {
	r.blocks = append(r.blocks, b)
	r.extended = true
}

// row adds a row of a table. The first one has the names of the columns, the second only lines.
func (r *blockReader) row(cells []string) {
	switch {
	case r.columns == nil:
		r.columns = cells
		return
	case strings.Trim(strings.Join(cells, ""), "-:") == "":
		return
	}
	last := len(cells) - 1
	term := cells[0]
	for i := 1; i < last; i++ {
		if cells[i] != "" {
			term += " (" + strings.ToLower(r.columns[i]) + " " + cells[i] + ")"
		}
	}
	r.add(Block{Kind: Row, Term: term, Text: cells[last]})
	r.extended = false
}

// cells returns the cells of a line of a table.
func cells(line string) (cells []string) {
	const bar = "\x00" // an escaped one, which separates nothing
	line = strings.Trim(strings.ReplaceAll(line, `\|`, bar), "|")
	for cell := range strings.SplitSeq(line, "|") {
		cells = append(cells, strings.TrimSpace(strings.ReplaceAll(cell, bar, "|")))
	}
	return cells
}

// links replaces links by their texts, and by the page to which they lead, if it is another one.
func links(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "](")
		open := strings.LastIndexByte(before, '[')
		target, rest, closed := strings.Cut(after, ")")
		if !found || open < 0 || !closed {
			return b.String() + text
		}
		b.WriteString(before[:open] + linkText(before[open+1:], target))
		text = rest
	}
}

// linkText returns what stands for a link.
func linkText(text, target string) string {
	page, _, _ := strings.Cut(target, "#")
	switch {
	case page == "" || strings.Contains(page, "://"):
		return text
	case strings.HasPrefix(page, "../"):
		page = page[len("../"):]
	default:
		page = "docs/" + page
	}
	if strings.HasSuffix(page, text) {
		return page
	}
	return text + " (" + page + ")"
}

// plain returns a text of Markdown without its marks. What is code stays as it is.
func plain(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], "*", "")
	}
	return strings.Join(parts, "")
}
