// Package logs prints the output of a job: whole, a part, or as it grows. Two streams are
// printed in the order in which they were written.
//
//	print.go     the flags of logs, and the streams they choose
//	printer.go   prints one stream, page by page
package logs
