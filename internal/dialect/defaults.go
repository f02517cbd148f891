package dialect

import (
	"context"
	"log/slog"
	"time"
)

// Defaults fills in a session's log and clock: nil becomes a log that discards, and the
// machine's clock.
func Defaults(log *slog.Logger, now func() time.Time) (*slog.Logger, func() time.Time) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if now == nil {
		now = time.Now
	}
	return log, now
}

// Within returns a context with the values of carries that ends with life, not with
// carries. The caller must call the CancelFunc, which ends it.
func Within(carries, life context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(carries))
	stop := context.AfterFunc(life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
