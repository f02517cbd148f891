//go:build ignore

package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"troupe"
)

func main() {
	ctx := context.Background()
	node, err := troupe.Open(ctx, troupe.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	job, err := node.Run(ctx, troupe.Sh("sleep 600 & sleep 600"))
	fmt.Println(job.End.Outcome, errors.Is(err, context.DeadlineExceeded))
}
