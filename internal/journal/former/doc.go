// Package former reads the records of journals of formats 1 and 2, in protobuf's wire format,
// so that a journal can be rewritten once. It goes when no such journal is left to be expected.
//
//	fact.go         facts and their kinds
//	fields.go       the wire format
//	job_fields.go   fields of a job's record
//	record.go       records beside the facts
package former
