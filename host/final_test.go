package host

import (
	"context"
	"errors"
	"testing"

	"troupe/messages"
)

// reads answers reads; an old one knows no final text.
type reads struct {
	asked []messages.ReadOutput
	fails func(messages.ReadOutput) *messages.Error
}

func (d *reads) Do(_ context.Context, r messages.Refusable) (any, error) {
	read := r.(messages.ReadOutput)
	d.asked = append(d.asked, read)
	if err := d.fails(read); err != nil {
		return nil, err
	}
	return messages.OutputPage{From: int64(len(d.asked))}, nil
}

// A daemon that knows no final text is asked for the plain one. Any other error is returned.
func TestReadFinal(t *testing.T) {
	unknown := func(r messages.ReadOutput) *messages.Error {
		if r.Final {
			return &messages.Error{Code: messages.InvalidParams, Reason: "final"}
		}
		return nil
	}
	ended := func(messages.ReadOutput) *messages.Error {
		return &messages.Error{Code: messages.NotFound, Reason: "job"}
	}
	none := func(messages.ReadOutput) *messages.Error { return nil }
	for name, c := range map[string]struct {
		fails func(messages.ReadOutput) *messages.Error
		final []bool
		code  messages.Code
	}{
		"today's":  {none, []bool{true}, ""},
		"older":    {unknown, []bool{true, false}, ""},
		"an error": {ended, []bool{true}, messages.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			d := &reads{fails: c.fails}
			page, err := ReadFinal(t.Context(), d, messages.ReadOutput{Job: "j1"})
			if len(d.asked) != len(c.final) {
				t.Fatalf("asked %d times, want %d", len(d.asked), len(c.final))
			}
			for i, r := range d.asked {
				if !r.Plain || r.Final != c.final[i] || r.Job != "j1" {
					t.Errorf("request %d is %+v", i, r)
				}
			}
			if c.code != "" {
				if !errors.Is(err, &messages.Error{Code: c.code}) {
					t.Errorf("got the error %v, want %s", err, c.code)
				}
			} else if err != nil || page.From != int64(len(c.final)) {
				t.Errorf("got %+v (%v), want the last answer", page, err)
			}
		})
	}
}
