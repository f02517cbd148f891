//go:build ignore

package main

import (
	"context"
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
	command := troupe.Sh("sleep 1; exit 3")
	command.Name = "build"
	job, err := node.Start(ctx, command)
	if err != nil {
		log.Fatal(err)
	}
	_, err = job.Wait(ctx)
	fmt.Println(err)
}
