package dialectconfig

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"troupe/backends/disk"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/dialect/copilot"
	"troupe/internal/dialect/omp"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// Check checks the settings of a dialect. It starts no process, so invalid settings are
// reported first.
func Check(m *cli.Main, dialect string, at *config.Settings, dir string) error {
	check := &settingsChecker{file: at.File(), text: at.Text(), env: m.Env}
	check.mcp(at.MCP)
	switch dialect {
	case "omp":
		check.omp(&at.OMP)
	case "opencode":
		check.opencode(&at.OpenCode)
	case "copilot":
		check.copilot(&at.Copilot)
	case "codelia":
		if check.err == nil {
			check.err = checkCodelia(at, dir, m.Env)
		}
	}
	return check.err
}

// settingsChecker checks the values of a dialect's settings before the server starts, and
// keeps the first error. The decoder has checked their types.
type settingsChecker struct {
	file string   // path of the configuration file
	text string   // contents of file
	env  []string // environment of the server
	err  error
}

// wrong records the error of a setting, if it is the first.
func (c *settingsChecker) wrong(setting, why string, args ...any) {
	if c.err == nil {
		c.err = config.SettingError(c.file, c.text, setting, setting+" "+fmt.Sprintf(why, args...))
	}
}

// path reports whether a path is set and absolute. A relative one would depend on where the
// server was started.
func (c *settingsChecker) path(setting, path string) bool {
	switch {
	case path == "":
		return false
	case !filepath.IsAbs(path):
		c.wrong(setting, "%q is relative; give an absolute path", path)
		return false
	}
	return true
}

// directory checks a path that must be absent or a directory.
func (c *settingsChecker) directory(setting, path string) {
	if !c.path(setting, path) {
		return
	}
	if info, err := (disk.Files{}).Stat(path); err == nil && !info.IsDir() {
		c.wrong(setting, "%s is not a directory; give a directory, or leave it out", path)
	}
}

func (c *settingsChecker) directories(setting string, paths []string) {
	for _, path := range paths {
		if path == "" {
			c.wrong(setting, "has an empty path; leave it out")
		}
		c.directory(setting, path)
	}
}

// shell checks that a shell is executable.
func (c *settingsChecker) shell(setting, path string) {
	_, bad := shelltext.Select(shelltext.Setting{Path: path, Where: setting}, c.env, func(path string) bool {
		info, err := (disk.Files{}).Stat(path)
		return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
	})
	if bad != nil {
		c.wrong(setting, "is invalid: %s; %s", bad.Message, bad.Hint)
	}
}

func (c *settingsChecker) atMost(setting string, given, most config.Duration) {
	if given.Duration > most.Duration {
		c.wrong(setting, "is %s; it must be at most %s", given.Duration, most.Duration)
	}
}

// mcp checks the settings of the table mcp.
func (c *settingsChecker) mcp(s config.MCPSettings) {
	if s.Shown > messages.MaxViewBytes {
		c.wrong("mcp.shown", "is %d bytes; it must be at most %d", s.Shown, messages.MaxViewBytes)
	}
	for _, name := range s.Env {
		if name == "" || strings.ContainsAny(name, "= \t\n\x00") {
			c.wrong("mcp.env", "has %q; use names of variables, without values", name)
		}
	}
}

// The bounds of omp.max_timeout, equal to those of the parameter timeout.
const (
	ompLeastTimeout = time.Second
	ompMostTimeout  = time.Hour
)

func (c *settingsChecker) omp(s *config.OMPSettings) {
	if waits := omp.PollWaits(); s.PollWait.Duration != 0 && !slices.Contains(waits, s.PollWait.Duration) {
		c.wrong("omp.poll_wait", "is %s; it must be one of %s", s.PollWait.Duration, spans(waits))
	}
	if most := omp.MaxJobs(0); int64(s.Jobs) > int64(most) {
		c.wrong("omp.jobs", "is %d; it must be at most %d", s.Jobs, most)
	}
	if d := s.MaxTimeout.Duration; d != 0 && (d < ompLeastTimeout || d > ompMostTimeout) {
		c.wrong("omp.max_timeout", "is %s; it must be from %s to %s, or left out", d, ompLeastTimeout, ompMostTimeout)
	}
	c.shell("omp.shell", s.Shell)
	if v := s.VirtualTerminal; v != "" && v != "on" && v != "off" {
		c.wrong("omp.virtual_terminal", "is %q; use on or off", v)
	}
	for i, r := range s.Rules {
		c.rule("omp.rules", i+1, r)
	}
	c.path("omp.minimize_filters", s.MinimizeFilters)
	c.directories("omp.skills", s.Skills)
	c.directories("omp.agents", s.Agents)
	c.directories("omp.plans", s.Plans)
	c.directories("omp.memories", s.Memories)
	c.directories("omp.rule_files", s.RulesOf)
}

// rule checks a configured rule. Invalid rules of the host are skipped, but a
// configured one is a mistake.
func (c *settingsChecker) rule(setting string, nth int, r config.Rule) {
	why := ""
	switch {
	case r.Pattern == "":
		why = "no pattern; give a regular expression that matches the commands"
	case r.Tool == "":
		why = "no tool; give the tool to use instead"
	case r.Message == "":
		why = "no message; give the text for the model"
	case len(shelltext.Compile([]shelltext.Rule{shelltext.Rule(r)})) == 0:
		why = fmt.Sprintf("the invalid pattern %q with the flags %q; use RE2 syntax, which has no lookahead or lookbehind, and flags of JavaScript", r.Pattern, r.Flags)
	}
	if why != "" && c.err == nil {
		c.err = config.TableError(c.file, c.text, setting, nth, fmt.Sprintf("%s, rule %d, has %s", setting, nth, why))
	}
}

func (c *settingsChecker) opencode(s *config.OpenCodeSettings) {
	c.shell("opencode.shell", s.Shell)
	c.directory("opencode.temp_dir", s.TempDir)
	c.directory("opencode.data_dir", s.DataDir)
	for _, word := range s.Banned {
		if word == "" || strings.ContainsAny(word, " \t\r\n") {
			c.wrong("opencode.banned", "has %q; use first words of commands, such as \"curl\"", word)
		}
	}
}

// CopilotPowerShell is the value of copilot.shell that selects the tools of PowerShell.
const CopilotPowerShell = "powershell"

func (c *settingsChecker) copilot(s *config.CopilotSettings) {
	switch s.Shell {
	case "", "bash":
	case CopilotPowerShell:
		c.powershell(s)
	default:
		c.wrong("copilot.shell", "is %q; use bash or powershell", s.Shell)
	}
	c.atMost("copilot.initial_wait", s.InitialWait, config.Duration{Duration: copilot.MostWait})
	c.directory("copilot.detached_logs", s.DetachedLogs)
	if name := s.DetachedNames; strings.ContainsAny(name, "/\x00\n") || len(name) > messages.MaxNameLength || strings.HasPrefix(name, ".") {
		c.wrong("copilot.detached_names", "is %q; it must be the beginning of a file name, of at most %d bytes", name, messages.MaxNameLength)
	}
}

// powershell checks that the tools of PowerShell have a program to run.
func (c *settingsChecker) powershell(s *config.CopilotSettings) {
	if s.Profile {
		c.wrong("copilot.bash_env", "is of bash; leave it out with copilot.shell = %q", s.Shell)
	}
	program := copilot.PowerShell().Program
	for _, dir := range filepath.SplitList(shelltext.Value(c.env, "PATH")) {
		if filepath.IsAbs(dir) && config.Executable(filepath.Join(dir, program)) {
			return
		}
	}
	c.wrong("copilot.shell", "is %q, and the PATH has no %s; install PowerShell, or leave the setting out", s.Shell, program)
}

// spans formats durations briefly: 30s, 1m, 5m.
func spans(all []time.Duration) string {
	var texts []string
	for _, d := range all {
		text := d.String()
		if d >= time.Minute {
			text = strings.TrimSuffix(text, "0s")
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
