package engine

// frozen reports whether a signal has stopped the main process, or in a live shell all processes
// of the command.
func (j *job) frozen() bool {
	if j.command == nil {
		p, is := statProc(j.engine.opt.Sys, j.proc.pid)
		return is && p.stopped()
	}
	procs := j.tree.(*shellCommandTree).members()
	for _, p := range procs {
		if !p.stopped() {
			return false
		}
	}
	return len(procs) > 0
}

// stopped reports whether a signal has stopped the process.
func (p proc) stopped() bool { return p.state == 'T' }
