//go:build ignore

package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"troupe"
	"troupe/messages"
)

func main() {
	ctx := context.Background()
	node, err := troupe.Open(ctx, troupe.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	command := troupe.Exec("sort")
	command.Stdin = messages.StdinPipe
	job, err := node.Start(ctx, command)
	in := job.Stdin(ctx)
	fmt.Fprintln(in, "b\na")
	in.Close()
	io.Copy(os.Stdout, job.Stdout(ctx))
}
