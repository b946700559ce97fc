package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
)

// getHTTP2 sends a GET in HTTP/2 and returns the status of the response.
func getHTTP2(ctx context.Context, conn net.Conn, path, host string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url(conn, host, path), nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("User-Agent", "ferry")
	response, err := overHTTP2(conn).RoundTrip(request)
	if err != nil {
		return 0, contextOr(ctx, err)
	}
	return response.StatusCode, response.Body.Close()
}

// url returns the URL of a request on conn.
func url(conn net.Conn, host, path string) string {
	if _, ok := conn.(*tls.Conn); ok {
		return "https://" + host + path
	}
	return "http://" + host + path
}

// overHTTP2 returns a transport for one request in HTTP/2 on conn: in cleartext with prior knowledge. The caller closes conn,
// which also ends what the transport has started.
func overHTTP2(conn net.Conn) *http.Transport {
	var used atomic.Bool
	dial := func(context.Context, string, string) (net.Conn, error) {
		if used.Swap(true) {
			return nil, errors.New("the server has closed the connection")
		}
		return conn, nil
	}
	_, secured := conn.(*tls.Conn)
	t := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true, DialContext: dial, DialTLSContext: dial}
	t.Protocols.SetHTTP2(secured)
	t.Protocols.SetUnencryptedHTTP2(!secured)
	return t
}
