package keeper

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"troupe/messages"
	"troupe/spill"
)

// A list of jobs shows the sizes of their outputs. One request returns the states of many
// logs, instead of one request and descriptor for each.

// allStreams lists the streams that a job may have.
var allStreams = [...]messages.Stream{messages.Merged, messages.Stdout, messages.Stderr}

// sendStates answers with the states of jobs' logs, in several messages.
func (s *server) sendStates(l *link, m message) error {
	jobs, err := decode[[]messages.UID](m.body)
	if err != nil {
		return err
	}
	var some []stateReply
	size := 0
	for _, id := range jobs {
		for _, stream := range allStreams {
			log, err := s.store.Open(string(id), uint8(stream))
			if err != nil {
				continue
			}
			state := log.State()
			_ = log.Close()
			some = append(some, stateReply{Job: id, Stream: stream, State: state})
			if size += 128 + len(state.File) + 32*len(state.Gaps); size > maxPart/2 {
				s.say(l, message{kind: sayStates, gen: m.gen, body: encode(some)})
				some, size = nil, 0
			}
		}
	}
	s.say(l, message{kind: sayStated, gen: m.gen, body: encode(some)})
	return nil
}

// askedAtOnce bounds the jobs of one request: it fits into a datagram and is quick.
const askedAtOnce = 500

// States returns the states of all logs of the jobs, as far as the keeper sends them in
// time.
func (c *Client) States(ids []messages.UID) map[spill.Name]spill.State {
	all := map[spill.Name]spill.State{}
	for some := range slices.Chunk(ids, askedAtOnce) {
		told, err := c.states(some)
		if err != nil {
			c.fault(fmt.Errorf("the keeper did not report the sizes of outputs: %w", err))
			break
		}
		for _, t := range told {
			all[spill.Name{ID: string(t.Job), Stream: uint8(t.Stream)}] = t.State
		}
	}
	return all
}

func (c *Client) states(ids []messages.UID) ([]stateReply, error) {
	ctx, cancel := c.bounded()
	defer cancel()
	var told []stateReply
	err := c.call(ctx, message{kind: askStates, body: encode(ids)}, func(m message) (bool, error) {
		some, err := decode[[]stateReply](m.body)
		told = append(told, some...)
		return m.kind == sayStated, err
	})
	if err != nil {
		return nil, err // more answers may still come
	}
	return told, nil
}

// States returns the states of all logs of the jobs. It asks a few keepers of detached
// jobs at a time.
func (f *Fleet) States(ids []messages.UID) map[spill.Name]spill.State {
	all := map[spill.Name]spill.State{}
	var mu sync.Mutex
	var asking sync.WaitGroup
	turn := make(chan struct{}, meetAtOnce)
	ask := func(c *Client, ids []messages.UID) {
		turn <- struct{}{}
		asking.Go(func() {
			told := c.States(ids)
			mu.Lock()
			maps.Copy(all, told)
			mu.Unlock()
			<-turn
		})
	}
	var rest []messages.UID
	for _, id := range ids {
		if c := f.of(id); c != nil {
			ask(c, []messages.UID{id})
		} else if state, ok := f.pastState(id); ok {
			mu.Lock()
			all[spill.Name{ID: string(id), Stream: spill.Merged}] = state
			mu.Unlock()
		} else {
			rest = append(rest, id)
		}
	}
	if f.main != nil && len(rest) > 0 {
		ask(f.main, rest)
	}
	asking.Wait()
	return all
}

// pastState returns the state of a detached job's log whose keeper has ended.
func (f *Fleet) pastState(id messages.UID) (state spill.State, ok bool) {
	if !validUID(id) {
		return state, false
	}
	log, err := f.openPast(id)
	if err != nil {
		return state, false
	}
	defer log.Close()
	return log.State(), true
}
