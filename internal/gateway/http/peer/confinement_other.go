//go:build !linux

package peer

// Rights are what the kernel allows a process. Here they cannot be seen.
type Rights struct{}

// OwnRights returns those of this process.
func OwnRights() Rights { return Rights{} }

// Confinement returns "": what confines a process cannot be seen here.
func (Rights) Confinement(int) string { return "" }

// OwnConfinement returns "", for the same reason.
func OwnConfinement() string { return "" }
