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
	job, _ := node.Run(ctx, troupe.Sh("exit 7"))
	which := troupe.Events{Filter: messages.Filter{Job: job.ID, Ends: true}}
	for event, err := range node.Events(ctx, which) {
		if end, is := event.Fact.(messages.CommandFinished); is || err != nil {
			fmt.Println(end.Job.End.Outcome, end.Job.End.Shell(), err)
			return
		}
	}
}
