// Package opencode is the dialect of opencode: the tools bash and view, with stdout and
// stderr apart, a preview of 500 and 500 lines of what is long, and all of it in files
// that view pages through (docs/requirements.md, dialect opencode).
//
// Its pure files make a request of parameters, and a text of how a run ended. Its
// Session, in the files with a context, asks a dialects.Host and writes the files that
// its results name: raw copies of what the log has.
package opencode
