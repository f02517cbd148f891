//go:build ignore

package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"troupe"
)

func main() {
	ctx := context.Background()
	node, err := troupe.Open(ctx, troupe.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	text, err := node.Output(ctx, troupe.Sh("echo hello; exit 3"))
	var exit *troupe.ExitError
	if errors.As(err, &exit) {
		fmt.Printf("status %d, output %q\n", exit.Record.End.Shell(), text)
	}
}
