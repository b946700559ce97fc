package interop

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"example.com/ferry/internal/needs"
)

// TestWebSocket has Node's WebSocket talk to a server that echoes frames, through one ferry and through two.
func TestWebSocket(t *testing.T) {
	needs.Program(t, "node")
	const option = "--experimental-websocket" // which says nothing new to Node 22
	if exec.Command("node", option, "-e", "0").Run() != nil {
		needs.Missing(t, "Node 20.10 or later", "install it as nodejs.org says")
	}
	t.Setenv("NODE_OPTIONS", option)
	server := serveGo(t, http.HandlerFunc(echoFrames))
	want := "websocket: 7 messages, closed with 1000\n"
	t.Run("gateway", func(t *testing.T) {
		f := run(t, "http1.yaml", map[string]string{"18090": server})
		if got := nodeClient(t, f.url("18080"), "websocket"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("sidecar", func(t *testing.T) {
		f := run(t, "sidecar.yaml", map[string]string{"18190": server})
		if got := nodeClient(t, f.url("18180"), "websocket"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// echoFrames is a WebSocket that sends back each frame of data, and of the end. RFC 6455.
func echoFrames(w http.ResponseWriter, r *http.Request) {
	key := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) // section 4.2.2
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(key[:]))
	for echoFrame(conn, buf.Reader) == nil {
	}
}

// echoFrame reads a frame, which is masked, and sends it back, not masked. It returns an error behind the last one. Section 5.2.
func echoFrame(conn net.Conn, r *bufio.Reader) error {
	var start [2]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return err
	}
	out := []byte{start[0], start[1] & 0x7f}
	length := uint64(out[1])
	if n := map[uint64]int{126: 2, 127: 8}[length]; n > 0 {
		var long [8]byte
		if _, err := io.ReadFull(r, long[8-n:]); err != nil {
			return err
		}
		out = append(out, long[8-n:]...)
		length = binary.BigEndian.Uint64(long[:])
	}
	body := make([]byte, 4+length) // the mask, and what it masks
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	for i := range body[4:] {
		body[4+i] ^= body[i%4]
	}
	if _, err := conn.Write(append(out, body[4:]...)); err != nil {
		return err
	}
	if opcode := start[0] & 0x0f; opcode == 8 { // the end: section 5.5.1
		return io.EOF
	}
	return nil
}
