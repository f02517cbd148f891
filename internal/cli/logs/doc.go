// Package logs prints the output of jobs: whole, a part, the lines that match a pattern, as it
// grows, or as an asciicast. Two streams are printed in the order in which they were written.
//
//	cast.go          prints a job as an asciicast
//	line_writer.go   prints whole lines, each with its job and its time
//	print.go         the flags of logs, and the streams they choose
//	printer.go       prints one stream, page by page
//	search.go        prints the lines that match a pattern
//	sources.go       the jobs, and printing several
package logs
