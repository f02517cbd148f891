//go:build ignore

package main

import (
	"bufio"
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
	job, err := node.Start(ctx, troupe.Exec("seq", "1", "3"))
	if err != nil {
		log.Fatal(err)
	}
	for lines := bufio.NewScanner(job.Stdout(ctx)); lines.Scan(); {
		fmt.Println("line", lines.Text())
	}
}
