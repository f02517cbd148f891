package urls

// Resolve gives what one URL means. An error is an *Error.
func Resolve(raw string, use Use, routers ...Router) (Resource, error) {
	found, _, err := resolve(raw, use, routers)
	return found, err
}
