package troupe_test

import (
	"context"
	"fmt"
	"io"
	"time"

	"troupe"
	"troupe/messages"
)

// A command that fails is a job with an outcome, not an error of Run.
func ExampleNode_Run() {
	ctx := context.Background()
	node, err := troupe.Open(ctx, troupe.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	command := troupe.Sh("echo hello; exit 3")
	command.Timeout = time.Minute
	job, err := node.Run(ctx, command)
	if err != nil {
		fmt.Println(err)
		return
	}
	output, err := node.Output(ctx, job.ID, messages.Merged, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := io.ReadAll(output)
	fmt.Printf("%s %d, it said %q, %v\n", job.End.Outcome, job.End.Shell(), text, err)
	fmt.Println(output.Close(), node.Shutdown(ctx, messages.ShutdownNode{}))
	// Output:
	// exited 3, it said "hello\n", <nil>
	// <nil> <nil>
}

// A job in the background is heard of when it ends: nobody has to ask.
func ExampleNode_Subscribe() {
	ctx := context.Background()
	node, err := troupe.Open(ctx, troupe.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	notices, err := node.Subscribe(ctx, messages.Subscribe{Filter: messages.Filter{Ends: true}})
	if err != nil {
		fmt.Println(err)
		return
	}
	command := troupe.Sh("read -r line; exit 7")
	command.Stdin, command.Mode = messages.StdinPipe, messages.ModeAsync
	job, err := node.Run(ctx, command)
	fmt.Println(job.State, job.Background, err)

	_, err = node.Ask(ctx, messages.WriteInput{Job: job.ID, Data: []byte("go on\n")})
	if err != nil {
		fmt.Println(err)
		return
	}
	heard, err := notices.Next(ctx)
	if n, ok := heard.(messages.Notification); ok {
		end, _ := n.Fact.(messages.CommandFinished)
		fmt.Println(end.Job.End.Outcome, end.Job.End.Shell(), err)
	}
	fmt.Println(notices.Close(), node.Shutdown(ctx, messages.ShutdownNode{}))
	// Output:
	// running true <nil>
	// exited 7 <nil>
	// <nil> <nil>
}
