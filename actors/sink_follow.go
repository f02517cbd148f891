package actors

import (
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
	"troupe/spill"
)

// follower waits for a log to be larger than from.
type follower struct {
	pid  *actor.PID
	from int64
}

// maxFollowers bounds the followers of one stream. A node has as many subscribers.
const maxFollowers = 256

// size returns the size of a stream and whether it is sealed.
func (s *sink) size(b *streamState) (size int64, sealed bool) {
	st := b.log.State()
	return st.Size, st.Closed || s.closed
}

// follow answers a follower at once or keeps it, one request of each client.
func (s *sink) follow(ctx actor.Context, p pending, r messages.FollowOutput) {
	b, err := s.book(r.Stream)
	switch {
	case r.From < 0:
		s.refuse(ctx, p, messages.Invalid("offset", "the offset is negative; give a number of bytes from the beginning"))
		return
	case err != nil && s.closed && len(s.streamStates) == 0:
		s.tell(ctx, p.sender, messages.OutputEnded{Stream: r.Stream}) // the job has no output
		return
	case err != nil:
		s.refuse(ctx, p, err)
		return
	}
	size, sealed := s.size(b)
	if err := spill.ErrOf(b.log); err != nil {
		s.refuse(ctx, p, asError(err, messages.OutputUnavailable))
		return
	}
	if s.answered(ctx, b, follower{p.sender, r.From}, size, sealed) {
		return
	}
	b.followers = slices.DeleteFunc(b.followers, func(f follower) bool { return f.pid.Equal(p.sender) })
	if len(b.followers) >= maxFollowers {
		b.followers = slices.DeleteFunc(b.followers, func(f follower) bool { return !reachable(ctx, f.pid) })
	}
	if len(b.followers) >= maxFollowers {
		s.refuse(ctx, p, &messages.Error{
			Code: messages.ResourceExhausted, Reason: "followers",
			Message: fmt.Sprintf("limit of %d followers of this stream reached", maxFollowers), Hint: "read the log by pages",
		})
		return
	}
	b.followers = append(b.followers, follower{p.sender, r.From})
	s.watchGrowth(ctx, b, size)
}

// answered answers a follower if its stream has grown or ended.
func (s *sink) answered(ctx actor.Context, b *streamState, f follower, size int64, sealed bool) bool {
	switch {
	case size > f.from:
		s.tell(ctx, f.pid, messages.OutputGrew{Stream: b.stream, Size: size})
	case sealed:
		s.tell(ctx, f.pid, messages.OutputEnded{Stream: b.stream, Size: size})
	default:
		return false
	}
	return true
}

// onGrowth takes growth of a stream. It requests the next while followers wait.
func (s *sink) onGrowth(ctx actor.Context, m messages.OutputGrew) {
	b := s.streamStates[m.Stream]
	if b == nil {
		return
	}
	b.credit = false
	s.notifyFollowers(ctx, b, m.Size)
}

// notifyFollowers answers the followers of a stream with at least known bytes.
func (s *sink) notifyFollowers(ctx actor.Context, b *streamState, known int64) {
	size, sealed := s.size(b)
	size = max(size, known)
	b.followers = slices.DeleteFunc(b.followers, func(f follower) bool { return s.answered(ctx, b, f, size, sealed) })
	if len(b.followers) > 0 {
		s.watchGrowth(ctx, b, size)
	}
}

// watchGrowth requests one OutputGrew above size.
func (s *sink) watchGrowth(ctx actor.Context, b *streamState, size int64) {
	if b.credit {
		return
	}
	b.credit = true
	ctx.Request(ctx.Parent(), watchOutput{stream: b.stream, from: size})
}
