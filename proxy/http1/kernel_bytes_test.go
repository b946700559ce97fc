package http1

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/upstream"
)

const evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

// TestBytesBehindAResponseInTheKernel has a server send bytes after its response. The proxy's read ends exactly after
// the response, while another request waits for the connection. The bytes left in the kernel must not become the
// response to that request.
func TestBytesBehindAResponseInTheKernel(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		for _, turn := range []int{512, 256 << 10} { // the surplus bytes are read in the next turn, or in the same turn
			c.Loops, c.ReadBuffer, c.TurnBytes = 1, 512, turn
			head := "HTTP/1.1 200 OK\r\nContent-Length: 400\r\nX-Pad: "
			head += strings.Repeat("p", 512-400-len(head)-4) + "\r\n\r\n"
			asked, goOn := make(chan bool, 10), make(chan bool, 10)
			r := start(t, setup{loop: c, cluster: upstream.Config{Limits: upstream.Limits{Connections: 1}}, servers: []string{
				proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
					for {
						req, err := http.ReadRequest(r)
						if err != nil {
							return
						}
						if req.URL.Path == "/first" {
							asked <- true
							<-goOn
							io.WriteString(conn, head+strings.Repeat("1", 400)+evil)
							continue
						}
						io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhonest")
					}
				}),
			}})
			first, second := r.dial(), r.dial()
			first.Send("GET /first HTTP/1.1\nHost: a\n\n")
			<-asked
			second.Send("GET /second HTTP/1.1\nHost: a\n\n")
			r.eventually("the second waits", func() bool {
				return r.service.current.Load().plan.Clusters[0].Snapshot().Waiting == 1
			})
			goOn <- true
			first.ReadResponse("GET")
			if resp, body := second.ReadResponse("GET"); resp.StatusCode != 200 || body != "honest" {
				t.Errorf("turns of %d bytes: got %d %q, want what the server said to this request", turn, resp.StatusCode, body)
			}
		}
	})
}
