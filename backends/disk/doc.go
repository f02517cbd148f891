// Package disk implements the file system of package shell, shell.Files, on this machine.
//
// Files:
//
//	files.go   stat, links, directories
package disk
