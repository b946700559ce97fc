package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/ferry/stream"
)

// noteWaiting prints why the node stores nothing, each time the reason changes, until ctx ends.
func noteWaiting(ctx context.Context, e *env, client *stream.Client) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for noted := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		why := client.Stats().WaitingFor
		if why != "" && why != noted {
			e.note("waiting: %s", why)
		}
		noted = why
	}
}

// interruptGrace is how long a Send that an interrupt has ended may take to return its error.
const interruptGrace = 200 * time.Millisecond

// interrupted returns the error of a command that an interrupt has ended, with why its Send was waiting. A command that was
// reading standard input has no more to say.
func interrupted(finished <-chan error) error {
	select {
	case err := <-finished:
		if err != nil {
			return fmt.Errorf("interrupted: %w", err)
		}
	case <-time.After(interruptGrace):
	}
	return errors.New("interrupted")
}
