// Package web serves MCP over streamable HTTP at one address: revision 2026-07-28, in
// which each request stands alone, and the older revisions, which have sessions. It
// bounds the sessions and ends idle ones with their calls.
//
// It does not authenticate clients: wrap it in http.RequireToken, and serve it only on a
// loopback address.
//
//	end_calls.go         ends the calls of a session with it
//	endpoint.go          options, and the handler for each revision
//	request_revision.go  finds the revision and the id of a request
//	sessions.go          sessions of the older revisions
package web
