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
		UID: "01JD", Key: "k", Principal: "p", Tag: "t", Scope: "a/b", Session: "s", Name: "n", Description: "d",
		Open: &messages.SessionPlan{Backend: messages.BackendShell, Dir: "/w", BaseEnv: []string{"C=3"}, Terminal: messages.Terminal{Rows: 24, Cols: 80}},
		Text: "make", Dir: "/src", Env: []string{"A=1", ""}, BaseEnv: []string{"B=2"}, Background: true,
		Terminal: messages.Terminal{Rows: 5}, Timeout: 1<<60 + 1, Grace: -1, OnFinish: []string{"tell"}, Quota: messages.Quota{Bytes: 7},
	}
	plain := messages.RunCommand{Key: "k", Text: "make"}
	opens := plain
	opens.Open = &messages.SessionPlan{}
	for name, c := range map[string]struct {
		r    messages.RunCommand
		want string
	}{
		"plain": {plain, "2:822460cd61688fb2087d167271a67358f1a1d633baa310376e73594de80ddaf9"},
		"opens": {opens, "2:c7ca8c40173c928a6aeeddd9a4f993c2b1df36db3608309866e201e5572a1f2c"},
		"full":  {full, "2:9401abd449a1c12decdf79ca08adb543506d764eceb0a3677c13aec3b08751e5"},
	} {
		if got := digest(c.r); got != c.want {
			t.Errorf("%s: got %s", name, got)
		}
		again := c.r
		again.UID, again.BaseEnv = "01JE", []string{"other"}
		if !sameRequest(digest(c.r), again) || !sameRequest(sumOf(comparable(c.r)), again) {
			t.Errorf("%s: it is not the same at another try, or behind an older version", name)
		}
	}
}

// Each field of a request makes another one of it.
func TestDigestsTellRequestsApart(t *testing.T) {
	seen := map[string]string{digest(messages.RunCommand{}): "nothing"}
	of := reflect.TypeFor[messages.RunCommand]()
	for i := range of.NumField() {
		name := of.Field(i).Name
		if name == "quiet" || name == "UID" || name == "BaseEnv" {
			continue
		}
		var r messages.RunCommand
		field := reflect.ValueOf(&r).Elem().Field(i)
		switch field.Kind() {
		case reflect.String:
			field.SetString("x")
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int, reflect.Int8, reflect.Int64:
			field.SetInt(int64(time.Second))
		case reflect.Slice:
			field.Set(reflect.ValueOf([]string{"x"}))
		case reflect.Pointer:
			field.Set(reflect.ValueOf(&messages.SessionPlan{}))
		case reflect.Struct:
			field.Field(0).SetInt(3)
		default:
			t.Fatalf("%s is a %s", name, field.Kind())
		}
		d := digest(r)
		if other, ok := seen[d]; ok {
			t.Errorf("%s is digested as %s", name, other)
		}
		if !strings.HasPrefix(d, digestForm) || sameRequest(d, messages.RunCommand{}) {
			t.Errorf("%s: %s", name, d)
		}
		seen[d] = name
	}
}
