// Package peer finds the owner of the other end of a unix socket and the files beside
// it. The server accepts only processes of its own user, and the client does not trust a
// socket of another user. Both trust only directories and files of their user alone.
//
//	check.go          the process at the other end of a socket; paths of sockets
//	confinement.go    whether a process is confined and this one is not
//	own_directory.go  directories and files of our user alone
//	owner.go          the system call of each platform
//	socket.go         where the socket of a user's daemon is
//	removal.go        waits for the removal of a file
package peer
