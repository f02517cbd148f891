package greeting

import (
	"os"
	"testing"
)

func TestHello(t *testing.T) {
	if got := Hello("troupe"); got != "hello, troupe" {
		t.Errorf("got %q", got)
	}
}

func TestHelloEverybody(t *testing.T) {
	want := "hello, world"
	if os.Getenv("GREETING_BROKEN") != "" {
		want = "good morning"
	}
	if got := Hello(""); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
