// Package greeting is a small module whose tests a supervisor can run.
package greeting

// Hello greets somebody, or everybody.
func Hello(name string) string {
	if name == "" {
		name = "world"
	}
	return "hello, " + name
}
