// Command mutants breaks one promise of the tree at a time, in a copy, and runs the test that
// holds it. A mutant whose test passes is not caught: the promise has no test.
//
//	go -C tools run ./mutants            all of them, as make mutants runs it: minutes
//	go -C tools run ./mutants lock pid   those whose names have one of these words
//
// Files:
//
//	mutants.go  the mutants
//	main.go     makes the copy, breaks it, runs the tests
package main
