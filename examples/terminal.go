//go:build ignore

package main

import (
	"context"
	"fmt"
	"log"

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
	command := troupe.Sh("read -r name; echo hello $name")
	command.Terminal = messages.Terminal{Rows: 4, Cols: 40}
	job, err := node.Start(ctx, command)
	job.Type(ctx, "troupe{enter}")
	job.Wait(ctx)
	lines, err := job.Screen(ctx)
	fmt.Println(lines[0], lines[1], err)
}
