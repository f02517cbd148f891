// Package systemd holds the units of the daemon. make install and troupe serve --install set the
// path of the program in them, the latter also the directories of its caller.
package systemd

import _ "embed" // the units

// Service is the unit of the daemon.
//
//go:embed troupe.service
var Service string

// Socket is the unit of the socket at which clients find it.
//
//go:embed troupe.socket
var Socket string

// Program is the path of the program in Service.
const Program = "/usr/local/bin/troupe"

// SocketPath is the path in Socket: the one at which clients look, below the directory that
// logind makes.
const SocketPath = "%t/troupe/daemon.sock"
