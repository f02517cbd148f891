package engine

func (s fdRetrySys) Create(path string) (fd int, err error) {
	if fd, err = s.Sys.Create(path); s.more(err) {
		fd, err = s.Sys.Create(path)
	}
	return fd, err
}

func (s fdRetrySys) PidfdOpen(pid int) (fd int, err error) {
	if fd, err = s.Sys.PidfdOpen(pid); s.more(err) {
		fd, err = s.Sys.PidfdOpen(pid)
	}
	return fd, err
}
