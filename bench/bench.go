//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// bench is one run of the benchmark.
type bench struct {
	scenarios []scenario
	rounds    int
	size      size
	profile   string
	out       io.Writer // for the table

	places int // directories of sides so far
}

// run measures every scenario and prints its lines. A failed scenario has lines without
// figures, and the others still run.
func (b *bench) run(ctx context.Context) (rows []row, err error) {
	dir, err := os.MkdirTemp("", "troupe-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	printHead(b.out)
	for _, s := range b.scenarios {
		if ctx.Err() != nil {
			break
		}
		measured, broken := b.scenario(ctx, s, dir)
		if broken != nil && ctx.Err() == nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", s.name, broken))
		}
		for _, l := range s.lines {
			r := newRow(s.name, l, measured.of(l.side, l.key), measured.of(raw, l.key))
			switch {
			case errors.Is(broken, errLacking):
				r.Verdict, r.Error = skipped, broken.Error()
			case broken != nil:
				r.Verdict, r.Error = short, broken.Error()
			}
			printRow(b.out, r)
			rows = append(rows, r)
		}
	}
	return rows, err
}

// figures holds what each side measured, round by round.
type figures map[side][]values

// of returns one figure of one side in all rounds.
func (f figures) of(who side, key string) []float64 {
	var all []float64
	for _, v := range f[who] {
		if x, ok := v[key]; ok {
			all = append(all, x)
		}
	}
	return all
}

// scenario starts the sides and lets them take turns: only one side works at a time.
func (b *bench) scenario(ctx context.Context, s scenario, dir string) (measured figures, err error) {
	measured = figures{}
	var peers []*peer
	defer func() {
		for _, p := range peers {
			err = errors.Join(err, p.close())
		}
	}()
	for _, who := range s.sides {
		b.places++
		place := filepath.Join(dir, strconv.Itoa(b.places)) // no side finds files of another
		if err := os.Mkdir(place, 0o700); err != nil {
			return measured, err
		}
		p, err := startPeer(ctx, assignment{Scenario: s.name, Side: who, Size: b.size, Dir: place, Profile: b.profile})
		if err != nil {
			return measured, err
		}
		peers = append(peers, p)
	}
	for range b.rounds {
		for _, p := range peers {
			v, err := p.round(ctx)
			if err != nil {
				return measured, fmt.Errorf("%s: %w", p.side, err)
			}
			measured[p.side] = append(measured[p.side], v)
		}
	}
	return measured, nil
}
