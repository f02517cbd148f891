package main

import (
	"syscall"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/messages"
)

// A daemon that ends in order tells attached clients that the job continues. They do not
// report a broken connection.
func TestTheEndOfTheDaemonIsToldToWhoIsAttached(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	c, err := client.Dial(t.Context(), d.awaitText(`"address":"`, `"`))
	require.NoError(t, err)
	defer c.Close()
	ran, err := c.Run(t.Context(), messages.RunCommand{Program: messages.Program{Text: "echo up; exec sleep 600"}, Mode: messages.ModeAsync})
	require.NoError(t, err)
	at, err := c.Attach(t.Context(), ran.Job.ID, client.AttachOptions{})
	require.NoError(t, err)
	defer at.Close()
	for shown := ""; shown != "up\n"; {
		h, err := at.Next(t.Context())
		require.NoError(t, err)
		shown += string(h.Data)
	}
	d.send(syscall.SIGTERM)
	_, err = at.Next(t.Context())
	require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err), "%v", err)
	d.ends(0)
	d.beside("serve").start().err.has(t, `"message":"ready"`) // whose end takes the job along
}
