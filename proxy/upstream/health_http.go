package upstream

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"example.com/ferry/loop"
	"example.com/ferry/protocol/http1"
)

// probeHTTP returns a probe that sends a GET and expects one of h's statuses. The probe does not read the body of the
// response. It speaks the protocol of the cluster.
func probeHTTP(h *Health) probe {
	return func(ctx context.Context, to probed) error {
		conn, err := to.connect(ctx, to.http)
		if err != nil {
			return err
		}
		defer conn.Close()
		host, get := cmp.Or(h.Host, to.host), getHTTP1
		if to.http == HTTP2 || negotiated(conn) == "h2" {
			get = getHTTP2
		}
		status, err := get(ctx, conn, h.Path, host)
		if err == nil && !h.accepts(status) {
			err = fmt.Errorf("status %d", status)
		}
		return err
	}
}

// getHTTP1 sends a GET in HTTP/1.1 and returns the status of the response.
func getHTTP1(ctx context.Context, conn net.Conn, path, host string) (status int, err error) {
	var head http1.Head
	begin := 0 // offset of the final response, after interim responses
	err = roundTrip(ctx, conn, get(path, host), func(data []byte) (bool, error) {
		for {
			n, err := http1.ParseResponse(data[begin:], &head, http1.MethodGet, nil)
			if n == 0 || err != nil {
				return false, err
			}
			if begin += n; head.Status >= 200 {
				return true, nil
			}
		}
	})
	return head.Status, err
}

// accepts reports whether status means that the endpoint is healthy.
func (h *Health) accepts(status int) bool {
	if len(h.Statuses) == 0 {
		return status/100 == 2
	}
	return slices.Contains(h.Statuses, status)
}

// authority returns the Host field for an address (RFC 9110, section 7.2).
func authority(at loop.Addr) string {
	if at.Unix != "" {
		return "localhost"
	}
	return netip.AddrPortFrom(at.TCP.Addr().WithZone(""), at.TCP.Port()).String()
}

// get returns a GET request.
func get(path, host string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: ferry\r\nConnection: close\r\n\r\n", path, host)
}

// validGet reports whether path and host can be written into a request without changing its meaning.
func validGet(path, host string) bool {
	var h http1.Head
	data := get(path, host)
	n, err := http1.ParseRequest(data, &h, nil)
	return err == nil && n == len(data) && h.Form == http1.Origin && string(h.Target.Of(data)) == path && string(h.Authority.Of(data)) == host
}
