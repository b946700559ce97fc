package upstream

import (
	"context"

	"example.com/ferry/loop"
)

// probeTCP opens and closes a connection.
func probeTCP(ctx context.Context, at loop.Addr) error {
	conn, err := connect(ctx, at)
	if err != nil {
		return err
	}
	return conn.Close()
}
