package ports

import (
	"sync"

	"troupe/messages"
)

// Reader finds the ports on which the processes of jobs listen. It reads the sockets of a network
// namespace once: make one for each reading of jobs. It is safe for concurrent use.
type Reader struct {
	mu     sync.Mutex
	spaces map[string]map[string]messages.ListeningPort // by namespace; by what a descriptor links to
}
