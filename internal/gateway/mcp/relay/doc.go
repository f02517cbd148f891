// Package relay sends notifications of extensions that the official SDK does not know. The
// SDK sends each as a progress message with a mark, and the relay translates it at the
// transport.
//
//	server.AddSendingMiddleware(relay.Sending)
//	err := relay.Notify(ctx, session, "notifications/tasks", params)
//
// Transport and Writer put the method in place of the mark, over a connection and over
// HTTP.
//
//	body.go    reads the body of a request that is passed on
//	notify.go  sends a notification, marked
//	reveal.go  translates marked messages of a transport
package relay
