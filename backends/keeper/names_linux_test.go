package keeper

import (
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"troupe/messages"
)

var writeNames = flag.Bool("write-names", false, "add the names of new fields to testdata/names.txt")

// wired are the values that cross the wire or lie in a journal of a keeper.
var wired = []any{
	startRequest{},
	inventoryReply{},
	stateReply{},
	logState{},
	savedLog{},
	wantLog{},
	number{},
	growthRequest{},
	stop{},
	control{},
	entry{},
	messages.Error{},
	messages.Survivor{},
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
}

// A field is known by its name, also to keepers and journals of other builds: a name
// that was given once is never another, and a value says itself by no other name.
func TestTheNamesOnTheWireStay(t *testing.T) {
	var names []string
	for _, v := range wired {
		names = appendNames(names, "", reflect.TypeOf(v))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	text, err := os.ReadFile("testdata/names.txt")
	if err != nil && !*writeNames {
		t.Fatal(err)
	}
	known := strings.Fields(string(text))
	for _, name := range known {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not on the wire any more: a renamed field keeps its name in the tag wire", name)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) && !*writeNames {
			t.Errorf("%s is new on the wire: go test ./backends/keeper -run TestTheNamesOnTheWireStay -write-names", name)
		}
	}
	if *writeNames && !t.Failed() {
		if err := os.WriteFile("testdata/names.txt", []byte(strings.Join(names, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// appendNames adds the path of each field that travels and its kind.
func appendNames(names []string, path string, of reflect.Type) []string {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Array {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of.PkgPath() == "time" {
		return append(names, path+":"+of.Kind().String())
	}
	for i := range of.NumField() {
		if f := of.Field(i); f.IsExported() {
			names = appendNames(names, path+"."+wireName(f), f.Type)
		}
	}
	return names
}
