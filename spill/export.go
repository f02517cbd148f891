package spill

import "os"

// Export gives a log to another process: its state, and what holds its bytes,
// opened anew for reading only; nil while the log has none, or has lost them.
// Offsets are those of the log. When the log moves to a file the former
// descriptor stays as it was: a reader that finds less than State says asks
// again. The caller closes the file.
func (d *Disk) Export(id string, stream uint8) (*os.File, State, error) {
	log, err := d.Open(id, stream)
	if err != nil {
		return nil, State{}, err
	}
	defer log.Close()
	b := log.(*reader).body
	h, f, err := b.acquire()
	if err != nil || h == nil {
		return nil, b.State(), err
	}
	defer h.free()
	if f != nil { // somebody may have cut it
		b.truncated(h, b.extent(false))
	}
	fd, err := d.sys.Reopen(h.fd)
	if exhausted(err) {
		d.cache.shrink()
		fd, err = d.sys.Reopen(h.fd)
	}
	if err != nil {
		return nil, b.State(), err
	}
	return os.NewFile(uintptr(fd), "log"), b.State(), nil
}
