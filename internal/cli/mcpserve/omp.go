package mcpserve

import (
	"context"

	"troupe/backends/disk"
	"troupe/internal/cli/dialectconfig"
	"troupe/internal/dialect/omp"
	"troupe/internal/gateway/mcp"
)

// omp builds the dialect of oh-my-pi: the tools bash and job.
func (s *dialectFactory) omp() (*mcp.Dialect, error) {
	made, err := dialectconfig.NewOMP(s.at, s.noDaemon, s.files, s.log)
	if err != nil {
		return nil, err
	}
	jobs := omp.MaxJobs(int(s.at.OMP.Jobs))
	tools := append([]string{"bash", "job"}, s.beside...)
	return &mcp.Dialect{
		Artifacts: true,
		Tools:     omp.New(omp.Options{Settings: made.Settings, FS: disk.Files{}}).Tools(),
		Open: func(at mcp.Place) (mcp.Session, error) {
			return made.Open(omp.Options{
				Host: at.Host, Beside: at.Beside, Scope: at.Scope, Dir: s.dir, Home: s.home, Env: s.env, SessionID: at.Name, Tools: tools, Owner: at.Name,
				Jobs: omp.NewJobs(omp.JobsOptions{
					Beside: at.Beside, Limit: jobs, Log: s.log,
					Deliver: func(_ context.Context, d omp.Delivery) error { at.Tell(d.Text, d.Told); return nil },
				}),
			}), nil
		},
	}, nil
}
