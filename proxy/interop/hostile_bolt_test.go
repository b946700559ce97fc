package interop

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	wire "example.com/ferry/protocol/bolt"
)

// TestHostileBolt is TestHostile for a Bolt listener.
func TestHostileBolt(t *testing.T) {
	needFiles(t)
	server := serveBolt(t)
	whole := string(boltRequest(t, 1, bytes.Repeat([]byte{'a'}, 100_000)))
	huge := boltRequest(t, 1, []byte("a"))
	binary.BigEndian.PutUint32(huge[18:], 1<<31-1) // length of the content
	for _, row := range []struct {
		name   string
		do     attack
		budget int // memory limit in MiB
	}{
		{name: "connections without a request", do: crowd("", ""), budget: 32},
		{name: "frames that come byte by byte", do: crowd(whole[:10], "\x00"), budget: 128},
		{name: "frames that stop in the middle", do: crowd(whole[:25], ""), budget: 128},
		{name: "large frames that come byte by byte", do: few(1000, whole[:100], "a", 200*time.Millisecond), budget: 64},
		{name: "frames that are too large", do: few(20, string(huge), strings.Repeat("a", 1000), beat), budget: 32},
		{name: "connections that break within a frame", do: breaks(whole), budget: 64},
		{name: "requests without end, responses unread", do: few(8, "", whole, beat), budget: 640},
		{name: "noise", do: noise, budget: 32},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := run(t, "bolt.yaml", map[string]string{"12300": server})
			during(t, f, row.do, "12200", row.budget, func(n int) { callBolt(t, f.at("12200"), n) })
		})
	}
}

// boltRequest returns a request whose response has the same content.
func boltRequest(t *testing.T, id uint32, content []byte) []byte {
	t.Helper()
	b, err := wire.Append(nil, wire.Message{
		Dialect: wire.V1, Type: wire.Request, Command: wire.CommandRequest, ID: id, Timeout: patience, Class: "com.example.Echo", Content: content,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// callBolt sends n requests on a new connection and expects all responses.
func callBolt(t *testing.T, address string, n int) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Errorf("an honest client: %v", err)
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	r := bufio.NewReader(c)
	for id := range n {
		content := fmt.Appendf(nil, "call %d", id)
		if _, err := c.Write(boltRequest(t, uint32(id), content)); err != nil {
			t.Errorf("an honest client: %v", err)
			return
		}
		f, err := readFrame(r)
		if err != nil {
			t.Errorf("an honest client: call %d: %v", id, err)
			return
		}
		if f.ID() != uint32(id) || f.Status() != wire.StatusSuccess || !bytes.Equal(f.Content(), content) {
			t.Errorf("an honest client: call %d: got call %d, %v, %q", id, f.ID(), f.Status(), f.Content())
		}
	}
}

// serveBolt starts a server that echoes the content of requests.
func serveBolt(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReaderSize(c, 1<<16); ; {
					f, err := readFrame(r)
					if err != nil {
						return
					}
					answer := wire.AppendHeartbeatAck(nil, f)
					if f.Command() != wire.CommandHeartbeat {
						answer, err = wire.Append(nil, wire.Message{
							Dialect: f.Dialect(), Type: wire.Response, Command: wire.CommandResponse, ID: f.ID(), Content: f.Content(),
						})
					}
					if _, werr := c.Write(answer); err != nil || werr != nil {
						return
					}
				}
			}()
		}
	}()
	return ln.Addr().String()
}

// readFrame reads a whole frame.
func readFrame(r io.Reader) (wire.Frame, error) {
	var data []byte
	for {
		f, need, err := wire.Next(data, wire.Limits{})
		if need == 0 {
			need = f.FrameLen()
		}
		have := len(data)
		if err != nil || have == need {
			return f, err
		}
		data = append(data, make([]byte, need-have)...)
		if _, err := io.ReadFull(r, data[have:]); err != nil {
			return f, err
		}
	}
}
