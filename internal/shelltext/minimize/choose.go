package minimize

import "strings"

// chosen are the filters of one call.
type chosen struct {
	label    string // of its own filter: the program
	own      own
	pipeline *pipeline
	skipped  bool // there is a pipeline, for other exits
}

// own is a filter written in Go. It gives false if the output is not of the form that it
// knows. It may take out lines and rewrite them; it gets no text that is empty.
type own func(lines []string, c run) ([]string, bool)

// run is what an own filter knows of the command.
type run struct {
	call
	exit int
}

// choose finds the filters of a program: its own, and with that the user's pipeline over it; else
// a pipeline, the user's first. A program that only starts another one, as npx jest does,
// has those of the other.
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

// apply runs the filters over an output.
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

// visible says something where nothing is left, if the command did what it should; an
// output of a failure of which nothing is left is shown raw.
func visible(text, output string, exit int) (string, bool) {
	if strings.TrimSpace(text) != "" {
		return text, true
	}
	return textOK, exit == 0 && strings.TrimSpace(output) != ""
}

// split gives the lines of a text, and what is behind the last one: a line break or
// nothing.
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
