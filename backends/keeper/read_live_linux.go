package keeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"troupe/backends"
	"troupe/messages"
)

var _ backends.LiveReader = (*Fleet)(nil)

// Bounds of a keeper that reads the live states of jobs: the time of one request, and the requests
// at a time. A node makes fewer.
const (
	maxLive    = time.Second
	liveAtOnce = 4
)

// sendLive answers with the live states of jobs. The reading takes a while, so it delays no other
// request.
func (s *server) sendLive(l *link, m message) error {
	r, err := decode[liveRequest](m.body)
	if err != nil {
		return err
	}
	select {
	case s.liveReads <- struct{}{}:
	default:
		return refused(messages.Busy, "live", fmt.Sprintf("the keeper reads what jobs do for %d requests at a time", liveAtOnce), "try again")
	}
	go func() {
		defer func() { <-s.liveReads }()
		ctx, cancel := context.WithTimeout(context.Background(), min(r.Before-clock(), maxLive))
		defer cancel()
		var all []liveReply
		for id, now := range s.engine.ReadLive(ctx, r.Jobs) {
			all = append(all, liveReply{Job: id, State: now})
		}
		s.say(l, message{kind: sayLive, gen: m.gen, body: encode(all)})
	}()
	return nil
}

// ReadLive implements backends.LiveReader. A keeper of before does not know the request.
func (c *Client) ReadLive(ctx context.Context, ids []messages.UID) map[messages.UID]messages.LiveState {
	all := make(map[messages.UID]messages.LiveState, len(ids))
	for some := range slices.Chunk(ids, askedAtOnce) {
		told, err := c.live(ctx, some)
		for _, t := range told {
			all[t.Job] = t.State
		}
		if err != nil {
			known := errors.Is(err, &messages.Error{Code: messages.Unsupported}) || errors.Is(err, &messages.Error{Code: messages.KeeperUnresponsive})
			if ctx.Err() == nil && !known {
				c.fault(fmt.Errorf("the keeper did not report what the processes of jobs do: %w", err))
			}
			break
		}
	}
	return all
}

// live asks for the live states of a few jobs. It leaves a tenth of the time for the answer.
func (c *Client) live(ctx context.Context, ids []messages.UID) ([]liveReply, error) {
	within := maxLive
	if end, bounded := ctx.Deadline(); bounded {
		within = min(within, time.Until(end))
	}
	var told []liveReply
	r := liveRequest{Jobs: ids, Before: clock() + within*9/10}
	err := c.call(ctx, message{kind: askLive, body: encode(r)}, func(m message) (bool, error) {
		some, err := decode[[]liveReply](m.body)
		told = some
		return true, err
	})
	if err != nil {
		return nil, err // the answer may still come
	}
	return told, nil
}

// ReadLive implements backends.LiveReader. It asks a few keepers at a time; one that does not
// answer delays the others of its turn only.
func (f *Fleet) ReadLive(ctx context.Context, ids []messages.UID) map[messages.UID]messages.LiveState {
	of := map[*Client][]messages.UID{}
	for _, id := range ids {
		if c := f.of(id); c != nil {
			of[c] = append(of[c], id)
		} else if f.main != nil {
			of[f.main] = append(of[f.main], id)
		}
	}
	all := make(map[messages.UID]messages.LiveState, len(ids))
	var mu sync.Mutex
	var asking sync.WaitGroup
	turn := make(chan struct{}, meetAtOnce)
	for c, some := range of {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		asking.Go(func() {
			defer func() { <-turn }()
			told := c.ReadLive(ctx, some)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(all, told)
		})
	}
	asking.Wait()
	return all
}
