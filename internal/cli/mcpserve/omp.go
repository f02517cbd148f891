package mcpserve

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"troupe/backends/disk"
	"troupe/internal/artifact"
	"troupe/internal/cli/config"
	"troupe/internal/cli/out"
	"troupe/internal/dialect/omp"
	"troupe/internal/gateway/mcp"
	"troupe/internal/shelltext"
	"troupe/internal/shelltext/minimize"
	"troupe/internal/shelltext/urls"
	"troupe/messages"
)

// omp builds the dialect of oh-my-pi: the tools bash and job.
func (s *dialectFactory) omp() (*mcp.Dialect, error) {
	settings, err := ompDialect(&s.at.OMP, s)
	if err != nil {
		return nil, err
	}
	routers := ompRouters(&s.at.OMP)
	jobs := omp.MaxJobs(int(s.at.OMP.Jobs))
	tools := append([]string{"bash", "job"}, s.beside...)
	return &mcp.Dialect{
		Artifacts: true,
		Tools:     omp.New(omp.Options{Settings: settings, FS: disk.Files{}}).Tools(),
		Open: func(at mcp.Place) (mcp.Session, error) {
			o := omp.Options{
				Host: at.Host, Beside: at.Beside, Scope: at.Scope, Dir: s.dir, Home: s.home, Env: s.env, SessionID: at.Name, Settings: settings, Tools: tools,
				FS: disk.Files{}, Owner: at.Name, Log: s.log, Routers: routers,
			}
			dir := s.keep(&o)
			o.Jobs = omp.NewJobs(omp.JobsOptions{
				Beside: at.Beside, Limit: jobs, Log: s.log,
				Deliver: func(_ context.Context, d omp.Delivery) error { at.Tell(d.Text, d.Told); return nil },
			})
			session := omp.New(o)
			return closers{session, o.Files, []func(context.Context) error{
				func(ctx context.Context) error { o.Jobs.Dispose(ctx); return nil }, session.Close,
				func(context.Context) error {
					if dir == nil {
						return nil
					}
					return dir.Close()
				},
			}}, nil
		},
	}, nil
}

// keep gives a session a directory for the files that its URLs name. Outputs are cut also
// without one.
func (s *dialectFactory) keep(o *omp.Options) *artifact.Dir {
	dir := s.files(o.SessionID)
	if dir == nil {
		return nil
	}
	path, err := dir.Path()
	if err != nil {
		s.log.Warn("cannot save long outputs of a session to files", "session", o.SessionID, "error", err)
		return dir
	}
	o.Files = artifact.NewStore(filepath.Join(path, "artifacts"))
	o.Routers = append(slices.Clone(o.Routers),
		urls.Artifacts{Files: disk.Files{}, Dirs: []string{o.Files.Dir()}},
		urls.LocalFiles{Files: disk.Files{}, Root: urls.LocalRoot(o.Files.Dir(), "", o.SessionID)})
	return dir
}

// ompDialect converts the configuration into the settings of a session.
func ompDialect(c *config.OMPSettings, s *dialectFactory) (omp.Settings, error) {
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
	o.ShellPath, o.ShellPrefix, o.OneShot, o.PassEnv, o.Quota = c.Shell, s.prefix, c.OneShot, s.pass, s.quota
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
