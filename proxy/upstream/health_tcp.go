package upstream

import "context"

// probeTCP opens and closes a connection. With TLS, the handshake is a part of the check.
func probeTCP(ctx context.Context, to probed) error {
	conn, err := to.connect(ctx, "")
	if err != nil {
		return err
	}
	return conn.Close()
}
