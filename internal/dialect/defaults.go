package dialect

import (
	"context"
	"log/slog"
	"time"
)

// Defaults are the log and the clock of a session whose options name none: nobody's, and
// the machine's.
func Defaults(log *slog.Logger, now func() time.Time) (*slog.Logger, func() time.Time) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if now == nil {
		now = time.Now
	}
	return log, now
}

// Within is a context with what one carries, that ends with the other and not with its
// own. The function ends it, and must be called.
func Within(carries, life context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(carries))
	stop := context.AfterFunc(life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
