package cli

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.com/ferry/internal/pki"
)

// errUnproven is the error of a connection to a server that does not prove that it knows the token of the data directory. While the node is down, any user
// of the machine may listen on its port.
var errUnproven = errors.New("the server does not prove that it knows the token of the data directory")

// dialProven connects to an admin server and lets it prove that it knows the token. So each connection on which the token is sent was proven.
func dialProven(ctx context.Context, network, addr, token string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	_ = conn.SetDeadline(time.Now().Add(connectTimeout)) // a connection that is closed fails below
	err = requireProof(conn, addr, token)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// requireProof makes one request on the connection, which can be used for further ones after it.
func requireProof(conn net.Conn, host, token string) error {
	nonce := rand.Text()
	request := fmt.Sprintf("GET %s?%s HTTP/1.1\r\nHost: %s\r\n\r\n", pki.ProofPath, url.Values{"nonce": {nonce}}.Encode(), host)
	if _, err := io.WriteString(conn, request); err != nil {
		return err
	}
	r := bufio.NewReader(io.LimitReader(conn, 64<<10))
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnproven, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errUnproven, err)
	case response.StatusCode != http.StatusOK || response.Close || r.Buffered() > 0,
		!pki.IsProof(strings.TrimSpace(string(body)), token, nonce, conn.RemoteAddr().String()):
		return errUnproven
	}
	return nil
}
