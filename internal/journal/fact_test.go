package journal_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/internal/journal"
	"troupe/messages"
)

// everyFact is the sealed set of facts.
var everyFact = []messages.Fact{
	messages.CommandQueued{},
	messages.CommandStarted{},
	messages.CommandPromoted{},
	messages.CommandStopping{},
	messages.CommandDraining{},
	messages.CommandFinished{},
	messages.CommandRetired{},
	messages.CommandChanged{},
	messages.SessionOpened{},
	messages.SessionReplaced{},
	messages.SessionClosed{},
	messages.ScopeOpened{},
	messages.ScopeClosed{},
	messages.CommandNotified{},
}

// The list is the whole set: a fact that is added to it in package messages is
// missed here, and then in the journal.
func TestEveryFactIsListed(t *testing.T) {
	sources, err := filepath.Glob("../../messages/*.go")
	must(t, err)
	var want, have []string
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		must(t, err)
		for name, object := range file.Scope.Objects {
			if spec, is := object.Decl.(*ast.TypeSpec); is && name != "ofJob" && embedsFact(spec) {
				want = append(want, name)
			}
		}
	}
	for _, fact := range everyFact {
		have = append(have, reflect.TypeOf(fact).Name())
	}
	slices.Sort(want)
	slices.Sort(have)
	if len(want) == 0 || !slices.Equal(want, have) {
		t.Fatalf("the facts are %v, tested are %v", want, have)
	}
}

// embedsFact reports whether a type is a fact: it embeds the mark of one.
func embedsFact(spec *ast.TypeSpec) bool {
	s, is := spec.Type.(*ast.StructType)
	return is && slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool {
		mark, is := f.Type.(*ast.Ident)
		return is && f.Names == nil && (mark.Name == "recorded" || mark.Name == "ofJob")
	})
}

// fill draws a value for every exported field that is stored, whatever is added to it.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		if at := rapid.Int64Range(-1<<35, 1<<37).Draw(t, "second"); rapid.Bool().Draw(t, "known") {
			v.Set(reflect.ValueOf(time.Unix(at, rapid.Int64Range(0, 999_999_999).Draw(t, "nanosecond")).UTC()))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("cbor") != "-" { // what is only in a reply is not stored
				fill(t, v.Field(i))
			}
		}
		if end, is := v.Addr().Interface().(*messages.End); is && end.Signal != "" { // of the two there is one
			end.Code = nil
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "given") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Slice:
		if n := rapid.IntRange(0, 3).Draw(t, "length"); n > 0 { // an empty list is no list
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(t, v.Index(i))
			}
		}
	case reflect.String: // of any bytes: a path need not be UTF-8
		v.SetString(string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "text")))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	case reflect.Int, reflect.Int8, reflect.Int32, reflect.Int64:
		v.SetInt(rapid.Int64Range(-1<<(v.Type().Bits()-1), 1<<(v.Type().Bits()-1)-1).Draw(t, "number"))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(rapid.Uint64Range(0, 1<<v.Type().Bits()-1).Draw(t, "number"))
	default:
		t.Fatalf("a fact has a %s, of which the journal knows nothing", v.Type())
	}
}

func drawFact(t *rapid.T) messages.Fact {
	v := reflect.New(reflect.TypeOf(rapid.SampledFrom(everyFact).Draw(t, "kind"))).Elem()
	fill(t, v)
	return v.Interface().(messages.Fact)
}

// Every fact is read as it was written, all of its fields.
func TestFactsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawFact(t)
		b, err := journal.EncodeFact(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := journal.DecodeFact(b)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

// A moment is the same one in another zone, and without a clock reading.
func TestFactsKeepTheMoment(t *testing.T) {
	at := time.Now().In(time.FixedZone("east", 3600))
	b, err := journal.EncodeFact(messages.CommandQueued{Job: messages.Record{Created: at}})
	must(t, err)
	got, err := journal.DecodeFact(b)
	must(t, err)
	if read := got.(messages.CommandQueued).Job.Created; !read.Equal(at) || read.Location() != time.UTC {
		t.Errorf("got %v, want %v in UTC", read, at)
	}
}

// What a newer troupe adds to a fact is passed over; a fact that it has invented
// is refused as such.
func TestFactsOfANewerTroupe(t *testing.T) {
	b, err := journal.EncodeFact(messages.ScopeOpened{Path: "main"})
	must(t, err)
	got, err := journal.DecodeFact(journal.Beyond(b))
	if err != nil || !reflect.DeepEqual(got, messages.ScopeOpened{Path: "main"}) {
		t.Errorf("with a new field: got %v (%v)", got, err)
	}
	if _, err := journal.DecodeFact(journal.UnknownKind()); !errors.Is(err, journal.ErrNewer) {
		t.Errorf("of a new kind: got %v, want ErrNewer", err)
	}
}

// Whatever the bytes are, reading ends with a fact or an error, and a fact that
// was read is written and read as the same.
func FuzzFact(f *testing.F) {
	for _, fact := range everyFact {
		b, err := journal.EncodeFact(fact)
		must(f, err)
		f.Add(b)
	}
	b, err := journal.EncodeFact(messages.CommandRetired{Job: aJob("j1")})
	must(f, err)
	f.Add(b)
	f.Add(journal.UnknownKind())
	f.Fuzz(func(t *testing.T, b []byte) {
		journal.DecodeRecords(b)
		fact, err := journal.DecodeFact(b)
		if err != nil {
			return
		}
		again, err := journal.EncodeFact(fact)
		must(t, err)
		read, err := journal.DecodeFact(again)
		must(t, err)
		if !reflect.DeepEqual(fact, read) {
			t.Fatalf("read %+v, then %+v", fact, read)
		}
	})
}
