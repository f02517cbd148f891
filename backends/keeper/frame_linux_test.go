package keeper

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"troupe/backends"
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
	at := time.Now().Round(0)
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
	if spec.Argv == nil {
		spec.Argv, spec.Env = []string{}, []string{}
	}
	got, err := decodeSpec(encodeSpec(spec, 3))
	if err != nil || !reflect.DeepEqual(got.Spec, spec) || got.Before != 3 {
		t.Errorf("%+v came as %+v, %v", spec, got, err)
	}
}

// grown is a body of today as a later version may make it, shrunk one of the past.
type (
	grown struct {
		Before string
		Seq    uint64
		Sizes  [4]int64
		Later  []messages.Survivor
		Bounds *spill.Limits
	}
	shrunk struct{ Seq uint64 }
)

// Versions that differ by fields understand each other, and a long value is as good
// as a short one.
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
		if got, err := decode[grown](whole[:cut]); err == nil && reflect.DeepEqual(got, later) {
			t.Errorf("cut at %d it was whole", cut)
		}
	}
}

// Whatever travels has a body, in which each of its fields is told apart.
func TestEverythingHasABody(t *testing.T) {
	for _, v := range []any{
		stop{},
		growthRequest{},
		number{},
		wantLog{},
		[]logState{{}},
		[]inventoryReply{{}},
		[]messages.UID{},
		[]stateReply{{}},
		control{},
		entry{},
		startRequest{},
		messages.Error{},
		[]messages.Survivor{{}},
		messages.ProcessStarted{},
		messages.ProcessFailed{},
		messages.MainExited{},
		messages.ProcessExited{},
		messages.ProcessLost{},
		messages.OutputClosed{},
		messages.TreeEnded{},
		messages.OutputGrew{},
		messages.InputWaiting{},
		messages.LogBlocked{},
		messages.LogFlagged{},
		messages.ControlDone{},
		messages.ControlRefused{},
		messages.InputWritten{},
	} {
		hasBody(t, reflect.TypeOf(v), map[reflect.Type]bool{})
	}
}

func hasBody(t *testing.T, of reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	if seen[of] || of == reflect.TypeFor[time.Time]() {
		return
	}
	seen[of] = true
	if of.Kind() == reflect.Pointer {
		hasBody(t, of.Elem(), seen)
		return
	}
	if _, err := appendValue(nil, reflect.Zero(of)); err != nil {
		t.Errorf("%s: %v", of, err)
	}
	switch of.Kind() {
	case reflect.Slice, reflect.Array:
		hasBody(t, of.Elem(), seen)
	case reflect.Struct:
		taken := map[uint16]string{}
		for i := range of.NumField() {
			f := of.Field(i)
			tag, travels := tagOf(f)
			if !travels {
				continue
			}
			if other := taken[tag]; other != "" {
				t.Errorf("the fields %s and %s of %s have one tag", other, f.Name, of)
			}
			taken[tag] = f.Name
			hasBody(t, f.Type, seen)
		}
	}
}

func FuzzFrame(f *testing.F) {
	m := message{kind: askStart, gen: 1, job: "01JD", body: []byte(`{"a":1}`)}
	f.Add(appendPart(appendHead(nil, 1, 0), &m))
	f.Add(encodeSpec(backends.Spec{ID: "01", Argv: []string{"a"}, Env: []string{"A=1"}, Dir: "/"}, 0))
	f.Add([]byte{frameTraffic})
	f.Add(appendJSON(frameHello, hello{Proto: protocol}))
	f.Add(appendJSON(frameError, messages.Error{Code: messages.Refused}))
	f.Fuzz(func(t *testing.T, p []byte) {
		_, _ = parseHello(p)
		_, _ = decodeSpec(p)
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
