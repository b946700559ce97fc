package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.com/ferry/node/admin"
)

type upgradeCmd struct{ adminArgument }

// Help returns the part of ferry upgrade --help that is not in the grammar.
func (*upgradeCmd) Help() string {
	return `It replaces the process of a running node by the program that is now at the same path, with the
same arguments: after the file was replaced, by another version. The new process gets the listening
sockets, so that no connection is refused. The proxy of the old one ends when its requests have
ended. Streams are passed on in one step: the old process tells its clients to connect again, and
closes what it stores; then the new one opens it. If the new process does not start, the old one
goes on, or opens its streams again.

SIGUSR2 does the same. Under systemd the new process becomes the service's main process.

Examples:

    ferry upgrade
    ferry upgrade --admin-token-file admin-token https://edge-1:4195`
}

// Run upgrades a node.
func (c *upgradeCmd) Run(e *env) error {
	client, err := c.connect()
	if err != nil {
		return err
	}
	defer client.close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var done admin.Upgraded
	if err := client.post(ctx, "/api/upgrade", &done); err != nil {
		return err
	}
	e.note("process %d serves, after %v; the streams paused %v", done.PID, done.Took.Round(time.Millisecond), done.Paused.Round(time.Millisecond))
	return nil
}
