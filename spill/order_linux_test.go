package spill

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func apart(t testing.TB, d *Disk, id string) (out, err *writer) {
	t.Helper()
	o, e1 := d.Create(id, Stdout, Plan{})
	e, e2 := d.Create(id, Stderr, Plan{})
	must(t, e1)
	must(t, e2)
	return o.(*writer), e.(*writer)
}

func pieces(t testing.TB, d *Disk, id string) ([]Segment, bool) {
	t.Helper()
	o, err := d.Order(id)
	must(t, err)
	defer o.Close()
	data, err := o.Encoded()
	must(t, err)
	all := slices.Collect(o.Pieces())
	if elsewhere := slices.Collect(ParseOrder(data, o.Whole()).Pieces()); !slices.Equal(all, elsewhere) {
		t.Fatalf("%d pieces are %d elsewhere", len(all), len(elsewhere))
	}
	return all, o.Whole()
}

// The order of two streams is that of their arrival, however long it is.
func TestOrder(t *testing.T) {
	d := newDisk(t)
	rounds(t, 25, 500)
	rapid.Check(t, func(rt *rapid.T) {
		id := "j" + rapid.StringMatching("[a-z0-9]{20}").Draw(rt, "id")
		var w [2]*writer
		w[0], w[1] = apart(t, d, id)
		p := newPipe(t)
		defer p.close()
		var want []Segment
		var size [2]int64
		n := rapid.SampledFrom([]int{0, 1, 5, 3000, 20_000}).Draw(rt, "pieces")
		r := rand.New(rand.NewPCG(1, uint64(n)))
		for range n {
			i, length := r.IntN(2), 1+r.IntN(300)
			if r.IntN(50) == 0 {
				push(t, w[i], p, text(length))
			} else if _, err := w[i].Append(text(length)); err != nil {
				rt.Fatal(err)
			}
			piece := Segment{Stream: Stdout + uint8(i), Offset: size[i], Length: int64(length)}
			size[i] += piece.Length
			if k := len(want) - 1; k >= 0 && want[k].Stream == piece.Stream {
				want[k].Length += piece.Length
			} else {
				want = append(want, piece)
			}
		}
		got, whole := pieces(t, d, id)
		if !whole {
			rt.Fatal("the index is not whole")
		}
		at := 0
		for _, g := range got { // a pause of a second may have split one
			if at == len(want) || g.Stream != want[at].Stream || g.Offset != want[at].Offset || g.Length > want[at].Length {
				rt.Fatalf("piece %+v, want %+v", g, want[min(at, len(want)-1)])
			}
			want[at].Offset += g.Length
			if want[at].Length -= g.Length; want[at].Length == 0 {
				at++
			}
		}
		if at != len(want) {
			rt.Fatalf("%d pieces of %d", at, len(want))
		}
		if err := d.Remove(id); err != nil {
			rt.Fatal(err)
		}
	})
}

// An index is bounded: beyond its limit it says that it is not whole.
func TestFaultOrderIsBounded(t *testing.T) {
	d := newDisk(t)
	out, err := apart(t, d, "j1")
	for i := 0; i < 3_000_000; i++ {
		out.order.note(Stdout, int64(i), 1)
		err.order.note(Stderr, int64(i), 1)
		if out.order.full {
			break
		}
	}
	o, e := d.Order("j1")
	must(t, e)
	defer o.Close()
	if o.Whole() || o.size > orderLimit || len(o.rest) > 17*orderBuffer {
		t.Errorf("whole %v, %d bytes and %d in memory", o.Whole(), o.size, len(o.rest))
	}
	var last [2]int64
	n := 0
	for p := range o.Pieces() {
		if p.Offset != last[p.Stream-Stdout] {
			t.Fatalf("a hole before %+v", p)
		}
		last[p.Stream-Stdout] += p.Length
		n++
	}
	if n < 1_000_000 {
		t.Errorf("only %d pieces", n)
	}
}

// Of a merged log is known when its bytes came: to a second, and of old ones
// never later than they did.
func TestTimesOfAMergedLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		w := create(t, d, "j1", Plan{})
		began := time.Now()
		const writes = 5 * timesMost
		for range writes {
			_, err := w.Append([]byte("ab"))
			must(t, err)
			time.Sleep(orderGrain)
		}
		all, whole := pieces(t, d, "j1")
		if !whole || len(all) > timesMost || len(all) < timesMost/2 {
			t.Fatalf("%d pieces, whole is %v", len(all), whole)
		}
		next := int64(0)
		for i, p := range all {
			if p.Offset != next || p.Stream != Stdout {
				t.Fatalf("piece %d is %+v, want offset %d", i, p, next)
			}
			next += p.Length
			if last := began.Add(time.Duration(next/2-1) * orderGrain); p.At.UnixMilli() != last.UnixMilli() {
				t.Fatalf("piece %d is of %v, its last byte of %v", i, p.At, last)
			}
			if i >= len(all)/2+1 && p.Length != 2 {
				t.Fatalf("piece %d of %d has %d bytes", i, len(all), p.Length)
			}
		}
		if next != 2*writes {
			t.Fatalf("%d bytes, want %d", next, 2*writes)
		}
	})
}
