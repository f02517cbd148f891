package omp

import "troupe/internal/shelltext"

// intercept blocks a command for which the model has a better tool.
func (s *Session) intercept(c *call) error {
	if !s.options.Settings.Interceptor {
		return nil
	}
	block, blocked := shelltext.Intercept(c.command, c.original, s.rules, s.options.Tools)
	if !blocked {
		return nil
	}
	return &ToolError{Text: block.Text(), Details: &Details{SuggestedTool: block.SuggestedTool}}
}
