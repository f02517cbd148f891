package keeper

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/backends"
	"troupe/internal/test/keys"
	"troupe/messages"
	"troupe/spill"
)

// A frame is read as it was written.
func TestFrame(t *testing.T) {
	parts := []message{
		{kind: askStart, gen: 1, job: "01JD", body: []byte(`{"a":1}`)},
		{kind: factGrew, gen: 1 << 60, job: messages.UID(strings.Repeat("J", maxID)), body: []byte{}},
	}
	p := appendHead(nil, 5, 6)
	size := len(p)
	for i := range parts {
		p = appendPart(p, &parts[i])
		size += parts[i].size()
	}
	if len(p) != size {
		t.Errorf("%d bytes, said to be %d", len(p), size)
	}
	f, err := parseFrame(p)
	if err != nil || f.first != 5 || f.ack != 6 || !reflect.DeepEqual(f.parts, parts) {
		t.Errorf("%+v, %v", f, err)
	}
	for cut := range len(p) {
		if _, err := parseFrame(p[:cut]); err == nil && cut != frameHead && cut != frameHead+parts[0].size() {
			t.Errorf("cut at %d it was taken", cut)
		} else if e := (*messages.Error)(nil); err != nil && !errors.As(err, &e) {
			t.Errorf("cut at %d: an error without a code: %v", cut, err)
		}
	}
}

// Each fact and each control comes back as it was.
func TestBodies(t *testing.T) {
	at := time.Now().Round(0).UTC()
	for _, f := range []messages.ProcessFact{
		messages.ProcessStarted{PID: 1, StartTime: 2, At: at, Isolation: messages.InCgroup},
		messages.ProcessFailed{Seq: 1, Err: messages.Error{Code: messages.SpawnFailed, Reason: "ENOENT"}, Shell: 127, At: at},
		messages.MainExited{Status: messages.ExitStatus{Signal: "KILL", Number: 9}, At: at},
		messages.ProcessExited{
			Seq: 1, Last: 3, Status: messages.ExitStatus{Code: 3}, Cause: messages.Cause{By: messages.ByClient, Reason: "r", Signal: "TERM"}, At: at,
			Sizes: messages.Sizes{1, 2, 3}, OutputOpen: true, Children: 2, Survivors: []messages.Survivor{{PID: 9, State: "D"}}, OOM: messages.Yes,
			Rusage: messages.Rusage{User: 1, System: 2, MaxRSS: 3}, Flags: []messages.Flag{messages.FlagLogBlocked}, Dir: "/tmp",
			Outputs: []messages.OutputState{{Stream: 1, File: "/f", Elided: []messages.OutputGap{{From: 1, To: 2}}}},
		},
		messages.ProcessLost{Seq: 4, Err: messages.Error{Code: messages.Internal, Reason: "keeper"}, At: at},
		messages.OutputClosed{Seq: 2, Sizes: messages.Sizes{1}, Outputs: []messages.OutputState{{File: "/f"}}},
		messages.TreeEnded{Seq: 3},
		messages.OutputGrew{Stream: 1, Size: 7},
		messages.InputWaiting{Waiting: true},
		messages.LogBlocked{Stream: 2, Blocked: true, Message: "m"},
		messages.LogFlagged{Stream: 1, Flag: messages.FlagLogTampered},
		messages.ControlDone{},
		messages.ControlRefused{Err: messages.Error{Code: messages.NoInput}},
		messages.InputWritten{Through: 9},
		messages.ProcessStopping{Cause: messages.IdleCause(time.Second)},
	} {
		got, err := parseFact(factKind(f), encode(f))
		if err != nil || !reflect.DeepEqual(got, f) {
			t.Errorf("%+v came as %+v, %v", f, got, err)
		}
	}
	for _, c := range []backends.Control{
		backends.Input{Data: []byte{0, 255}, Raw: true},
		backends.CloseInput{},
		backends.CheckInput{For: time.Second},
		backends.Resize{Size: messages.Terminal{Rows: 3, Cols: 4}},
		backends.Signal{Name: "INT", Tree: true},
		backends.ResetTerminal{},
		backends.Deadline{After: time.Second},
		backends.Pause{},
		backends.Resume{},
	} {
		w, err := decode[control](encode(wireControl(c)))
		if err != nil || !reflect.DeepEqual(w.engineControl(), c) {
			t.Errorf("%+v came as %+v, %v", c, w.engineControl(), err)
		}
	}
	spec := backends.Spec{
		ID: "01", Argv: []string{"a", "b\x00\xff"}, Env: []string{"A=1"}, Dir: "/", Umask: -1, Deadline: time.Second, Meta: []byte{1, 2}, Script: "x",
		Stdio: backends.Stdio{Stdin: messages.StdinPipe, Streams: messages.SeparateStreams}, OnExit: messages.KeepChildren,
		Attr: messages.ProcAttr{Limits: messages.Limits{Rlimits: []string{"nofile=1:2", "core=0:unlimited"}, Nice: -3, CPUs: "0-1"}},
	}
	for _, spec := range []backends.Spec{spec, {ID: "02", In: "01", Script: "make"}, {
		ID: "03", Argv: []string{"bash"}, Env: []string{}, Live: &backends.LiveShell{Files: map[string]string{"b": "x\x00y", "a": ""}, From: "01", Within: time.Second},
	}} {
		travels(t, spec)
	}
}

func travels(t *testing.T, spec backends.Spec) {
	got, err := decode[startRequest](encode(startRequest{spec, 3}))
	if err != nil || !reflect.DeepEqual(got.Spec, spec) || got.Before != 3 {
		t.Errorf("%+v came as %+v, %v", spec, got, err)
	}
}

// grown is a body of today as a later version may make it, shrunk one of the past.
type (
	grown struct {
		Before string              `cbor:"99,keyasint,omitzero"`
		Seq    uint64              `cbor:"1,keyasint,omitzero"`
		Sizes  [4]int64            `cbor:"2,keyasint,omitzero"`
		Later  []messages.Survivor `cbor:"98,keyasint,omitzero"`
		Bounds *spill.Limits       `cbor:"97,keyasint,omitzero"`
	}
	shrunk struct {
		Seq uint64 `cbor:"1,keyasint,omitzero"`
	}
)

// Versions that differ by fields understand each other, and a long value is as good
// as a short one. What is empty or points to nothing but zeros is not lost.
func TestBodiesOfOtherVersions(t *testing.T) {
	later := grown{Before: strings.Repeat("b", 300), Seq: 7, Sizes: [4]int64{1, 2, 3, 4}, Later: []messages.Survivor{{PID: 1}, {}}, Bounds: &spill.Limits{}}
	if got, err := decode[grown](encode(later)); err != nil || !reflect.DeepEqual(got, later) {
		t.Errorf("%+v came as %+v, %v", later, got, err)
	}
	now, err := decode[messages.OutputClosed](encode(later))
	if want := (messages.OutputClosed{Seq: 7, Sizes: messages.Sizes{1, 2, 3}}); err != nil || !reflect.DeepEqual(now, want) {
		t.Errorf("a later one came as %+v, %v", now, err)
	}
	now, err = decode[messages.OutputClosed](encode(shrunk{Seq: 8}))
	if want := (messages.OutputClosed{Seq: 8}); err != nil || !reflect.DeepEqual(now, want) {
		t.Errorf("an earlier one came as %+v, %v", now, err)
	}
	whole := encode(later)
	for cut := range len(whole) {
		if _, err := decode[grown](whole[:cut]); !errors.Is(err, messages.Invalid("frame", "")) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	empty := control{Kind: "input", Data: []byte{}}
	if got, err := decode[control](encode(empty)); err != nil || !reflect.DeepEqual(got, empty) {
		t.Errorf("%+v came as %+v, %v", empty, got, err)
	}
}

// A program may have as many arguments as the kernel takes.
func TestAStartOfManyWords(t *testing.T) {
	travels(t, backends.Spec{ID: "01", Argv: slices.Repeat([]string{"x"}, 600_000)})
}

// Whatever travels or lies in a journal has a body, and keys that are its own for ever.
func TestKeysOfBodies(t *testing.T) {
	all := []any{
		startRequest{},
		stop{},
		growthRequest{},
		number{},
		wantLog{},
		logState{},
		savedLog{},
		stateReply{},
		inventoryReply{},
		liveRequest{},
		liveReply{},
		control{},
		entry{},
		messages.Error{},
		messages.Survivor{},
	}
	for _, form := range factForms {
		all = append(all, reflect.Zero(form.of).Interface())
	}
	for _, v := range append(all, []logState{{}}, []inventoryReply{{}}, []stateReply{{}}, []messages.UID{"J"}, []messages.Survivor{{}}) {
		if len(encode(v)) == 0 {
			t.Errorf("%T has no body", v)
		}
	}
	keys.Check(t, all...)
}

func FuzzFrame(f *testing.F) {
	m := message{kind: askStart, gen: 1, job: "01JD", body: []byte(`{"a":1}`)}
	f.Add(appendPart(appendHead(nil, 1, 0), &m))
	f.Add(encode(startRequest{backends.Spec{ID: "01", Argv: []string{"a"}, Env: []string{"A=1"}, Dir: "/"}, 0}))
	f.Add([]byte{frameTraffic})
	f.Add(appendJSON(frameHello, hello{Proto: protocol}))
	f.Add(appendJSON(frameError, messages.Error{Code: messages.Refused}))
	f.Fuzz(func(t *testing.T, p []byte) {
		_, _ = parseHello(p)
		_, _ = decode[startRequest](p)
		_, _ = decode[[]inventoryReply](p)
		_, _ = decode[[]logState](p)
		_, _ = decode[entry](p)
		fr, err := parseFrame(p)
		if err != nil {
			return
		}
		again := appendHead(nil, fr.first, fr.ack)
		for i := range fr.parts {
			part := fr.parts[i]
			_, _ = parseFact(part.kind, part.body)
			if part.big || p[0] != frameTraffic {
				return
			}
			again = appendPart(again, &part)
		}
		if l := newLink(10); len(fr.parts) > 0 {
			_, _ = l.take(fr)
		}
		if len(again) == len(p) && !bytes.Equal(again[:frameHead], p[:frameHead]) {
			t.Fatalf("%x became %x", p, again)
		}
	})
}

// BenchmarkStart encodes and decodes a start with 40 variables.
func BenchmarkStart(b *testing.B) {
	spec := backends.Spec{ID: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Argv: []string{"/bin/bash", "-c", "make test"}, Dir: "/home/user/src/project", Umask: -1, Grace: 5 * time.Second, Meta: make([]byte, 300)}
	for i := range 40 {
		spec.Env = append(spec.Env, fmt.Sprintf("VARIABLE_%02d=%s", i, strings.Repeat("v", 36)))
	}
	body := encode(startRequest{spec, time.Hour})
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			encode(startRequest{spec, time.Hour})
		}
		b.ReportMetric(float64(len(body)), "bytes")
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decode[startRequest](body); err != nil {
				b.Fatal(err)
			}
		}
	})
}
