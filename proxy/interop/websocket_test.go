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
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/needs"
)

// TestWebSocket exchanges frames with an echo server, through one ferry and through two. The clients are a WebSocket
// client in Python and, if Node has one, Node's own.
func TestWebSocket(t *testing.T) {
	needs.Program(t, "python3")
	needs.Program(t, "node")
	const option = "--experimental-websocket" // needed by Node 20.10, ignored by Node 22
	hasOwn := exec.Command("node", option, "-e", "0").Run() == nil
	server := serveGo(t, http.HandlerFunc(echoFrames))
	for _, tt := range []struct{ name, file, port, server string }{
		{"gateway", "http1.yaml", "18080", "18090"},
		{"sidecar", "sidecar.yaml", "18180", "18190"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const want = "websocket: 7 messages, closed with 1000\n"
			f := run(t, tt.file, map[string]string{tt.server: server})
			url := f.url(tt.port)
			if got := output(t, "", "python3", filepath.Join("testdata", "websocket.py"), strings.TrimPrefix(url, "http://")); got != want {
				t.Errorf("Python: got %q, want %q", got, want)
			}
			if !hasOwn {
				return
			}
			t.Setenv("NODE_OPTIONS", option)
			if got := nodeClient(t, url, "websocket"); got != want {
				t.Errorf("Node: got %q, want %q", got, want)
			}
		})
	}
}

// echoFrames is a WebSocket server that echoes data and close frames (RFC 6455).
func echoFrames(w http.ResponseWriter, r *http.Request) {
	key := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) // RFC 6455, section 4.2.2
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

// echoFrame reads a masked frame and sends it back unmasked. It returns an error after the last frame (RFC 6455,
// section 5.2).
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
	body := make([]byte, 4+length) // the mask and the masked data
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	for i := range body[4:] {
		body[4+i] ^= body[i%4]
	}
	if _, err := conn.Write(append(out, body[4:]...)); err != nil {
		return err
	}
	if opcode := start[0] & 0x0f; opcode == 8 { // close frame: RFC 6455, section 5.5.1
		return io.EOF
	}
	return nil
}
