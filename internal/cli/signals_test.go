package cli

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// QUIT leaves a blocked terminal only quitPatience, also as the first signal. A
// terminal that accepts the write is restored in any case.
func TestQuitDoesNotWaitForATerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, never := time.Now(), make(chan struct{})
		s := &Signals{Incoming: make(chan os.Signal)}
		s.First(unix.SIGQUIT)
		if s.WaitBriefly(func() { <-never }) {
			t.Error("it says that all was shown")
		}
		if waited := time.Since(began); waited != quitPatience {
			t.Errorf("it waited %v", waited)
		}
		if !s.WaitBriefly(func() {}) {
			t.Error("it says that nothing was shown")
		}
		close(never)
	})
}
