// Package enginetest creates real engines for tests of what uses them. Each has a store
// in a directory of its own. Nothing of either may be left when the test ends.
//
//	engine.go   an engine in a mode, and its end
package enginetest
