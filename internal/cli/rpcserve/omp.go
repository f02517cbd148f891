package rpcserve

import (
	"context"
	"fmt"
	"io"
	"os"

	"troupe/internal/cli/dialectconfig"
	ompdialect "troupe/internal/dialect/omp"
	"troupe/internal/gateway/acp"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// omp speaks the Agent Client Protocol. A prompt is a command for the tool bash of omp.
// Background jobs are off: no later turn would show their ends.
func omp(ctx context.Context, c *client, in io.Reader, out io.Writer) error {
	made, err := dialectconfig.NewOMP(c.at, c.noDaemon, c.files, c.log)
	if err != nil {
		return err
	}
	made.Settings.AsyncEnabled, made.Settings.AutoBackground = false, false
	return acp.Serve(ctx, acp.Options{Version: c.version, Log: c.log, Open: func(at acp.Place) (acp.Session, error) {
		if info, err := os.Stat(at.Dir); err != nil || !info.IsDir() {
			return nil, &messages.Error{Code: messages.CwdNotFound, Message: fmt.Sprintf("the directory %.200q cannot be found", at.Dir), Hint: "give one that exists"}
		}
		return made.Open(ompdialect.Options{
			Host: c.host, Beside: &c.work, Scope: c.scope, Dir: at.Dir, Home: shelltext.Value(c.env, "HOME"), Env: c.env, SessionID: at.ID,
			Tools: []string{"bash"}, Owner: at.ID, Client: at.Client,
		}), nil
	}}, in, out)
}
