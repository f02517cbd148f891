package minimize

import "strings"

// chosen holds the filters of one call.
type chosen struct {
	label    string // label of the own filter: the program
	own      own
	pipeline *pipeline
	skipped  bool // a pipeline exists, but for other exits
}

// own is a filter written in Go. It returns false for an output in an unknown form. It
// may remove and rewrite lines; lines are never an empty text.
type own func(lines []string, c run) ([]string, bool)

// run is the command as an own filter sees it.
type run struct {
	call
	exit int
}

// choose returns the filters of a program: its own filter followed by the user's
// pipeline, else one pipeline, the user's first. A program that only starts another, as
// npx jest does, has the other's filters.
func choose(c call, exit int, user Filters) chosen {
	if c.inner != nil {
		if found := choose(*c.inner, exit, user); found.own != nil || found.pipeline != nil || found.skipped {
			return found
		}
	}
	found := chosen{label: c.program, own: ownOf(c)}
	if found.pipeline, found.skipped = user.match(c, exit); found.pipeline != nil {
		found.pipeline.bounded = true
	}
	if found.own != nil {
		found.skipped = false
	} else if found.pipeline == nil && !found.skipped {
		found.pipeline, found.skipped = builtin(c.program).match(c, exit)
	}
	return found
}

// apply runs the filters over an output and returns the text and its label.
func (f chosen) apply(c call, output string, exit int) (string, string) {
	lines, end := split(output)
	var byOwn, byPipeline bool
	if f.own != nil {
		if kept, ok := f.own(lines, run{c, exit}); ok {
			lines, byOwn = kept, true
		}
	}
	text := output
	if byOwn {
		text = join(lines, end)
	}
	if f.pipeline != nil {
		through := f.pipeline.apply(text, exit)
		byPipeline, text = through != text, through
	}
	text, ok := visible(text, output, exit)
	switch {
	case !ok || len(text) >= len(output):
		if f.pipeline != nil && f.own == nil {
			return output, Noop
		}
		return output, Unsupported
	case byOwn && byPipeline:
		return text, PipelineBuiltin
	case byPipeline:
		return text, Pipeline
	}
	return text, f.label
}

// visible replaces an empty result by OK after a success. An empty result of a failure,
// or of an empty output, is not ok.
func visible(text, output string, exit int) (string, bool) {
	if strings.TrimSpace(text) != "" {
		return text, true
	}
	return textOK, exit == 0 && strings.TrimSpace(output) != ""
}

// split returns the lines of a text and the final line break, if any.
func split(text string) ([]string, string) {
	body, ended := strings.CutSuffix(text, "\n")
	end := ""
	if ended {
		end = "\n"
	}
	return strings.Split(body, "\n"), end
}

func join(lines []string, end string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + end
}
