// Package top shows the scopes, sessions and jobs of a daemon in a table that follows them, with
// the output of the selected job below, and acts on them by keys. The model is a pure
// function of messages: keys, lists of the daemon and its events. It formats only the rows that
// the screen shows.
//
//	action.go       requests that keys make: stop, kill, promote, write
//	bindings.go     the keys, with what they do
//	click.go        clicks and the wheel of the mouse
//	columns.go      the columns of the table and their cells
//	end_with_us.go  ends a verb with this program
//	events.go       the events of the daemon, gathered
//	field.go        a line that is typed
//	jobs.go         what is known of scopes, sessions and jobs
//	model.go        the state of the program, and what changes it
//	pane.go         the output or the screen of the selected job
//	refresh.go      lists, and the pauses between them
//	rows.go         the rows of the table: order and filter
//	run.go          Run, the whole verb
//	verb.go         runs other verbs on this terminal: attach, logs
//	view.go         draws the screen
package top
