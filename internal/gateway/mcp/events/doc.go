// Package events implements the extension io.modelcontextprotocol/events (SEP-3415) for
// servers of the official SDK, which lacks it: events/list, events/poll and events/stream.
// Delivery to webhooks (events/subscribe) is not offered, and no event type says so.
//
//	relay := events.NewRelay()
//	err := events.Serve(server, events.Options{Source: source, Relay: relay})
//	session, err := server.Connect(ctx, relay.Transport(transport), nil)
//
// The source has the events and their cursors. The server keeps nothing of a client but its
// open streams: a stream reads the next page when the client has taken the last one.
//
//	params.go  the JSON of the extension, and its errors
//	relay.go   gives each stream its id and the life of its connection
//	serve.go   the methods of the extension
//	source.go  the source of events and what it returns
//	stream.go  one events/stream request
package events
