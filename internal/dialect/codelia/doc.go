// Package codelia is the dialect of codelia: what its runtime offers for shell commands
// (shell.exec and shell tasks), the tools that page through cached outputs, and what its
// console does with commands that a user types with ! (docs/requirements.md, dialect codelia).
//
// Its pure files have the parameters and results with the field names of the protocol,
// the queue of results that ride on the next message, and every text. Its Session, in
// the files with a context, asks a dialects.Host, knows the tasks, and caches outputs.
// The frames of JSON-RPC are a gateway's; Error has their codes.
package codelia
