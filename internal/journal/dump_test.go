package journal_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"troupe/internal/journal"
	"troupe/messages"
)

// dump writes all that a journal has, and the small outputs of one job.
func dump(t testing.TB, b *journal.Bolt, uid messages.UID) string {
	t.Helper()
	facts, err := b.Read(0, 10_000)
	must(t, err)
	live, err := b.Live()
	must(t, err)
	over, err := b.Finished(0, 10_000)
	must(t, err)
	channels, err := b.Channels()
	must(t, err)
	ends, err := b.Ends()
	must(t, err)
	outputs, err := b.Outputs(uid)
	must(t, err)
	number, err := b.LastJobNumber()
	must(t, err)
	last, err := b.Last()
	must(t, err)
	var out strings.Builder
	for _, v := range []any{facts, live, over, channels, ends, outputs, number, last} {
		dumpValue(&out, "", reflect.ValueOf(v))
	}
	return out.String()
}

// dumpValue writes a value and what it points to, a line for each part that is not zero.
func dumpValue(out *strings.Builder, path string, v reflect.Value) {
	at, isTime := v.Interface().(time.Time)
	switch {
	case v.IsZero():
		return
	case isTime:
		fmt.Fprintf(out, "%s %s\n", path, at.Format(time.RFC3339Nano))
		return
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		dumpValue(out, path+"("+v.Elem().Type().String()+")", v.Elem())
	case reflect.Struct:
		fmt.Fprintf(out, "%s %s\n", path, v.Type())
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				dumpValue(out, path+"."+f.Name, v.Field(i))
			}
		}
	case reflect.Slice:
		fmt.Fprintf(out, "%s %s of %d\n", path, v.Type(), v.Len())
		for i := range v.Len() {
			dumpValue(out, fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	default:
		fmt.Fprintf(out, "%s %q\n", path, fmt.Sprint(v.Interface()))
	}
}
