package need

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Thread runs do on a thread that ends with it: its user, rights and priority stay there. It
// is not the main thread, which never ends, and whose state /proc shows as the process's.
func Thread(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			Thread(do) // on another one, while this one is held
			runtime.UnlockOSThread()
			return
		}
		do()
	}()
	<-done
}
