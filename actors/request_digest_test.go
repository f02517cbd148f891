package actors

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"troupe/messages"
)

// What a request is digested to is kept for days, and read by later versions: what
// stands here must not change, whatever fields a request gets.
func TestDigestsAreForEver(t *testing.T) {
	full := messages.RunCommand{
		UID: "01JD", Key: "k", Labels: messages.Labels{Principal: "p", Tag: "t", Name: "n", Description: "d"}, Scope: "a/b", Session: "s",
		Open:    &messages.SessionPlan{Backend: messages.BackendShell, Dir: "/w", Env: messages.Env{Base: []string{"C=3"}}, Terminal: messages.Terminal{Rows: 24, Cols: 80}},
		Program: messages.Program{Text: "make"}, Dir: "/src", Env: messages.Env{Set: []string{"A=1", ""}, Base: []string{"B=2"}}, Mode: messages.ModeAsync,
		Stdio: messages.Stdio{Terminal: messages.Terminal{Rows: 5}}, Timeout: 1<<60 + 1, Grace: -1, OnFinish: []string{"tell"}, Store: messages.Store{Quota: messages.Quota{Bytes: 7}},
	}
	plain := messages.RunCommand{Key: "k", Program: messages.Program{Text: "make"}}
	opens := plain
	opens.Open = &messages.SessionPlan{}
	for name, c := range map[string]struct {
		r    messages.RunCommand
		want string
	}{
		"plain": {plain, "3:f1d20b7e4af35827a15451afb85701570a2a2dd86dd73c301c646b361f072cbd"},
		"opens": {opens, "3:405f8b40b9c3c4c4b8b2ddd9eb668e0f40122d82a938ad0dd0ddb9ecfe0ae5c1"},
		"full":  {full, "3:a64e49bbe5f22dda3b3713f54b07f2375a814486d41d4f735e5d9ce60edc9df0"},
	} {
		if got := digest(c.r); got != c.want {
			t.Errorf("%s: got %s", name, got)
		}
		again := c.r
		again.UID, again.Env.Base = "01JE", []string{"other"}
		if !sameRequest(digest(c.r), again) || !sameRequest("2:of an older version", again) {
			t.Errorf("%s: it is not the same at another try, or behind an older version", name)
		}
	}
}

// Each field of a request makes another one of it.
func TestDigestsTellRequestsApart(t *testing.T) {
	seen := map[string]string{digest(messages.RunCommand{}): "nothing"}
	var each func(name string, r *messages.RunCommand, v reflect.Value)
	each = func(name string, r *messages.RunCommand, v reflect.Value) {
		if name == ".UID" || name == ".Key" || name == ".Env.Base" {
			return
		}
		switch v.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int8, reflect.Int64:
			v.SetInt(int64(time.Second))
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Pointer:
			v.Set(reflect.ValueOf(&messages.SessionPlan{}))
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.Name != "quiet" {
					each(name+"."+f.Name, r, v.Field(i))
				}
			}
			return
		default:
			t.Fatalf("%s is a %s", name, v.Kind())
		}
		d := digest(*r)
		if other, ok := seen[d]; ok {
			t.Errorf("%s is digested as %s", name, other)
		}
		if !strings.HasPrefix(d, digestForm) || sameRequest(d, messages.RunCommand{}) {
			t.Errorf("%s: %s", name, d)
		}
		seen[d] = name
		v.SetZero()
	}
	var r messages.RunCommand
	each("", &r, reflect.ValueOf(&r).Elem())
}
