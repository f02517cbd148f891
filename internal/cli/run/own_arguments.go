package run

import (
	"os"
	"slices"
	"strings"
	"unsafe"

	"troupe/internal/shelltext"
)

// OwnArguments returns the arguments of this process, without its name. If they contain a
// search for processes, such as pkill -f, it blanks the arguments in memory that other
// processes read: the search would find, or end, the troupe that runs it.
func OwnArguments() []string {
	args := make([]string, len(os.Args))
	for i, arg := range os.Args {
		args[i] = strings.Clone(arg)
	}
	shown := os.Args
	os.Args = args
	if len(args) > 2 && slices.ContainsFunc(args[2:], shelltext.FindsProcesses) {
		for _, arg := range shown[2:] {
			clear(unsafe.Slice(unsafe.StringData(arg), len(arg)))
		}
	}
	return args[1:]
}
