//go:build ignore

package main

import (
	"context"
	"fmt"
	"log"

	"troupe"
)

// The job continues when this program ends: troupe logs greeting.
func main() {
	ctx := context.Background()
	node, err := troupe.Connect(ctx, "") // a running troupe serve
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	command := troupe.Sh("echo hello; exec sleep 600")
	command.Name = "greeting"
	job, err := node.Start(ctx, command)
	if err != nil {
		log.Fatal(err)
	}
	record, err := job.Record(ctx)
	fmt.Println(record.Name, record.State, err)
}
