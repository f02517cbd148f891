package spill

import "sync"

// faulty is the kernel with faults: hook is asked before each call, by its name.
type faulty struct {
	kernelSys
	mu   sync.Mutex
	hook func(call string) error
	// after hides a call that was made: it fails although it took effect.
}

func (f *faulty) fail(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hook == nil {
		return nil
	}
	return f.hook(call)
}

func (f *faulty) set(hook func(string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

func (f *faulty) Memfd(name string) (int, error) {
	if err := f.fail("memfd_create"); err != nil {
		return -1, err
	}
	return f.kernelSys.Memfd(name)
}

func (f *faulty) Open(dir int, name string, flags int, mode uint32) (int, error) {
	if err := f.fail("openat"); err != nil {
		return -1, err
	}
	return f.kernelSys.Open(dir, name, flags, mode)
}

func (f *faulty) Mkdir(dir int, name string, mode uint32) error {
	if err := f.fail("mkdirat"); err != nil {
		return err
	}
	return f.kernelSys.Mkdir(dir, name, mode)
}

func (f *faulty) Rename(fromDir int, from string, toDir int, to string) error {
	if err := f.fail("renameat"); err != nil {
		return err
	}
	return f.kernelSys.Rename(fromDir, from, toDir, to)
}

func (f *faulty) Unlink(dir int, name string) error {
	if err := f.fail("unlinkat"); err != nil {
		return err
	}
	return f.kernelSys.Unlink(dir, name)
}

func (f *faulty) Stat(fd int) (Stat, error) {
	if err := f.fail("fstat"); err != nil {
		return Stat{}, err
	}
	return f.kernelSys.Stat(fd)
}

func (f *faulty) Pread(fd int, p []byte, off int64) (int, error) {
	if err := f.fail("pread"); err != nil {
		return 0, err
	}
	return f.kernelSys.Pread(fd, p, off)
}

func (f *faulty) Pwrite(fd int, p []byte, off int64) (int, error) {
	if err := f.fail("pwrite"); err != nil {
		return 0, err
	}
	return f.kernelSys.Pwrite(fd, p, off)
}

func (f *faulty) Read(fd int, p []byte) (int, error) {
	if err := f.fail("read"); err != nil {
		return 0, err
	}
	return f.kernelSys.Read(fd, p)
}

func (f *faulty) Poll(fd int) (readable, ended bool, err error) {
	if err := f.fail("poll"); err != nil {
		return false, false, err
	}
	return f.kernelSys.Poll(fd)
}

func (f *faulty) Splice(from, to int, off, most int64) (int64, error) {
	if err := f.fail("splice"); err != nil {
		return 0, err
	}
	return f.kernelSys.Splice(from, to, off, most)
}

func (f *faulty) Pipe(size int) (r, w int, err error) {
	if err := f.fail("pipe2"); err != nil {
		return -1, -1, err
	}
	return f.kernelSys.Pipe(size)
}

func (f *faulty) Sendfile(to, from int, off, n int64) (int64, error) {
	if err := f.fail("sendfile"); err != nil {
		return 0, err
	}
	return f.kernelSys.Sendfile(to, from, off, n)
}

func (f *faulty) Seek(fd int, off int64) error {
	if err := f.fail("lseek"); err != nil {
		return err
	}
	return f.kernelSys.Seek(fd, off)
}

func (f *faulty) Punch(fd int, off, n int64) error {
	if err := f.fail("fallocate"); err != nil {
		return err
	}
	return f.kernelSys.Punch(fd, off, n)
}

func (f *faulty) Truncate(fd int, size int64) error {
	if err := f.fail("ftruncate"); err != nil {
		return err
	}
	return f.kernelSys.Truncate(fd, size)
}

func (f *faulty) Sync(fd int) error {
	if err := f.fail("fdatasync"); err != nil {
		return err
	}
	return f.kernelSys.Sync(fd)
}

func (f *faulty) Lock(fd int) error {
	if err := f.fail("flock"); err != nil {
		return err
	}
	return f.kernelSys.Lock(fd)
}

// Close closes whatever it says, as the kernel does.
func (f *faulty) Close(fd int) error {
	err := f.kernelSys.Close(fd)
	if ferr := f.fail("close"); ferr != nil {
		return ferr
	}
	return err
}

func (f *faulty) Reopen(fd int) (int, error) {
	if err := f.fail("reopen"); err != nil {
		return -1, err
	}
	return f.kernelSys.Reopen(fd)
}
