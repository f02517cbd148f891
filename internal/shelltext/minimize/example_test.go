package minimize_test

import (
	"fmt"
	"strings"

	"troupe/internal/shelltext/minimize"
)

// A user's filter: what deploy says while it works is left out, if it worked.
func ExampleParseFilters() {
	filters, err := minimize.ParseFilters(`
[filters.deploy]
match_command = 'deploy'                      # the whole name of the program
match_subcommand = 'up|down'                  # the whole subcommand; left out, any
strip_lines_matching = ['^step \d+ of \d+']   # anywhere in the line
replace = [{ pattern = '\(in \d+ ms\)', replacement = '' }]
max_lines = 50                                # the first and the last of them
on_empty = 'deployed'                         # where nothing is left
only_on_exit = [0]
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	settings := minimize.Defaults()
	settings.Filters = filters
	output := strings.Repeat("step 1 of 2, which takes a while\n", 40) + "to https://example.org (in 12 ms)\n"
	text, info := minimize.Minimize("sudo deploy up", output, 0, settings)
	fmt.Print(info.Label, ": ", text)
	// Output: pipeline: to https://example.org
}
