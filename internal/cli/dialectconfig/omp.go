package dialectconfig

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"troupe/backends/disk"
	"troupe/internal/artifact"
	"troupe/internal/cli/config"
	"troupe/internal/cli/dialecthost"
	"troupe/internal/cli/out"
	"troupe/internal/dialect/omp"
	"troupe/internal/shelltext"
	"troupe/internal/shelltext/minimize"
	"troupe/internal/shelltext/urls"
	"troupe/messages"
)

// OMP opens sessions of the dialect omp as the configuration says.
type OMP struct {
	Settings omp.Settings
	routers  []urls.Router
	files    dialecthost.SessionFiles
	log      *slog.Logger
}

// NewOMP reads the settings. Without a daemon, sessions add the configured prefix to each
// command; a daemon adds it itself.
func NewOMP(at *config.Settings, noDaemon bool, files dialecthost.SessionFiles, log *slog.Logger) (*OMP, error) {
	settings, err := ompSettings(&at.OMP)
	if err != nil {
		return nil, err
	}
	settings.PassEnv, settings.Quota = at.MCP.Env, messages.Quota{Bytes: int64(at.MCP.Output)}
	if noDaemon {
		settings.ShellPrefix = at.Prefix
	}
	return &OMP{Settings: settings, routers: ompRouters(&at.OMP), files: files, log: log}, nil
}

// Open opens a session. It adds the settings, the files and the URLs to the options.
func (m *OMP) Open(o omp.Options) *OMPSession {
	o.Settings, o.FS, o.Routers, o.Log = m.Settings, disk.Files{}, m.routers, m.log
	s := &OMPSession{jobs: o.Jobs, dir: m.files.Open(o.SessionID)}
	if s.dir != nil {
		if path, err := s.dir.Path(); err != nil {
			m.log.Warn("cannot save long outputs of a session to files", "session", o.SessionID, "error", err)
		} else {
			s.files = artifact.NewStore(filepath.Join(path, "artifacts"))
			o.Files = s.files
			o.Routers = append(slices.Clone(o.Routers),
				urls.Artifacts{Files: disk.Files{}, Dirs: []string{o.Files.Dir()}},
				urls.LocalFiles{Files: disk.Files{}, Root: urls.LocalRoot(o.Files.Dir(), "", o.SessionID)})
		}
	}
	s.Session = omp.New(o)
	return s
}

// OMPSession is a session with its table of jobs and the directory of its files.
type OMPSession struct {
	*omp.Session
	jobs  *omp.Jobs       // nil: none
	files *artifact.Store // nil: outputs are cut
	dir   *artifact.Dir
}

// Artifact implements mcp.Artifacts.
func (s *OMPSession) Artifact(id string) (string, error) {
	if s.files == nil {
		return "", artifact.ErrNoDirectory
	}
	return s.files.Find(id)
}

// Close ends the session and its jobs, and removes its files.
func (s *OMPSession) Close(ctx context.Context) error {
	if s.jobs != nil {
		s.jobs.Dispose(ctx)
	}
	err := s.Session.Close(ctx)
	if s.dir != nil {
		err = errors.Join(err, s.dir.Close())
	}
	return err
}

// ompSettings converts the table omp of the configuration.
func ompSettings(c *config.OMPSettings) (omp.Settings, error) {
	o := omp.DefaultSettings()
	o.AsyncEnabled, o.AutoBackground = c.Async == nil || *c.Async, c.AutoBackground
	if c.AutoBackgroundAfter.Duration > 0 {
		o.AutoBackgroundThreshold = c.AutoBackgroundAfter.Duration
	}
	if c.PollWait.Duration > 0 {
		o.PollWait = c.PollWait.Duration
	}
	o.StripTrailingHeadTail = c.HeadTail == nil || *c.HeadTail
	o.MaxTimeout, o.ZeroTimeoutDisables = c.MaxTimeout.Seconds(), c.NoTimeout == nil || *c.NoTimeout
	o.ShellPath, o.OneShot, o.VirtualTerminal = c.Shell, c.OneShot, c.VirtualTerminal
	o.Interceptor, o.SearchTool = c.Intercept, c.SearchTool
	for _, r := range c.Rules {
		o.Rules = append(o.Rules, shelltext.Rule(r))
	}
	o.Minimizer.Enabled = c.Minimize == nil || *c.Minimize
	o.Minimizer.Only, o.Minimizer.Except = c.MinimizeOnly, c.MinimizeExcept
	if c.MinimizeFilters == "" {
		return o, nil
	}
	text, err := config.ReadFile(c.MinimizeFilters)
	if err == nil {
		o.Minimizer.Filters, err = minimize.ParseFilters(text)
	}
	if err != nil {
		return o, messages.Invalid(out.ConfigReason, "omp.minimize_filters: cannot use the filters in "+c.MinimizeFilters+": "+err.Error())
	}
	return o, nil
}

// ompRouters returns the routers of the URL schemes that the configuration gives roots.
func ompRouters(c *config.OMPSettings) []urls.Router {
	var routers []urls.Router
	if len(c.Skills) > 0 {
		routers = append(routers, urls.Skills{Files: disk.Files{}, Known: skillsIn(c.Skills)})
	}
	for _, r := range []struct {
		roots []string
		make  func(shelltext.Files, ...string) urls.Directory
	}{{c.Agents, urls.Agents}, {c.Plans, urls.Plans}, {c.Memories, urls.Memories}, {c.RulesOf, urls.Rules}} {
		if len(r.roots) > 0 {
			routers = append(routers, r.make(disk.Files{}, r.roots...))
		}
	}
	return routers
}

// skillFile is the file of a skill, in the directory named for it.
const skillFile = "SKILL.md"

// skillsIn lists the skills in the root directories. It runs once, at the start.
func skillsIn(roots []string) []urls.SkillFile {
	var known []urls.SkillFile
	for _, root := range roots {
		entries, _ := os.ReadDir(root) // a missing directory has no skills
		for _, e := range entries {
			dir := filepath.Join(root, e.Name())
			if info, err := os.Stat(filepath.Join(dir, skillFile)); err == nil && info.Mode().IsRegular() {
				known = append(known, urls.SkillFile{Name: e.Name(), File: filepath.Join(dir, skillFile), Dir: dir})
			}
		}
	}
	return known
}
