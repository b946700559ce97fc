package web_test

import (
	"net"
	"net/http"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/edge/web"
)

// TestSilentConnections: more connections than there are places send nothing, or half a head. Requests are served, and a stream of events stays while
// more of them come.
func TestSilentConnections(t *testing.T) {
	r := newRig(t, broker.Config{}, web.Config{Config: edge.Config{MaxConnections: 8, HandshakeTimeout: time.Hour}, IdleTimeout: time.Hour})
	silence := func() {
		for i := range 64 {
			c, err := net.Dial("tcp", r.addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			if i%2 == 0 {
				_, _ = c.Write([]byte("POST /v1/tags/a HTTP/1.1\r\nX-Half: "))
			}
		}
	}
	silence()
	events := r.events("/v1/tags/a")
	silence()
	r.wantStatus(http.StatusNoContent, http.MethodPost, "/v1/tags/a", `{"n":1}`, "Content-Type", "application/json")
	events.want("a", `{"n":1}`)
}
