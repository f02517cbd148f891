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
	shell, err := node.Session(ctx, "dev", troupe.Plan{Backend: "shell"})
	if err != nil {
		log.Fatal(err)
	}
	defer shell.Close(ctx)
	_, err = shell.Run(ctx, troupe.Sh("cd /; greet() { echo hello from $PWD; }"))
	text, err := shell.Output(ctx, troupe.Sh("greet"))
	fmt.Print(text, err, "\n")
}
