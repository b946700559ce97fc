package bolt

import (
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
)

// The proxy survives arbitrary bytes of a client and of a server, in arbitrary pieces. It then still serves another
// client.
func FuzzPeers(f *testing.F) {
	good, _ := wire.Append(nil, call(wire.V1, 1, "a", []byte("hello")))
	crc, _ := wire.Append(nil, call(wire.V2CRC, 1, "a", filled(100)))
	large, _ := wire.Append(nil, call(wire.V2CRC, 2, "a", filled(largeFrame)))
	answer, _ := wire.Append(nil, wire.Message{Dialect: wire.V1, Type: wire.Response, Command: wire.CommandResponse, ID: 1})
	away, _ := wire.Append(nil, wire.Message{Dialect: wire.V1, Type: wire.Request, Command: wire.CommandGoaway})
	f.Add(good, answer, uint16(7))
	f.Add(append(good, good...), append(away, answer...), uint16(1))
	f.Add(append(crc, large...), []byte{}, uint16(5000))
	f.Add(large, large, uint16(30000))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), []byte("HTTP"), uint16(3))

	says := make(chan []byte, 1)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				select {
				case said := <-says:
					_, _ = c.Write(said)
				default:
				}
				_ = c.SetReadDeadline(time.Now().Add(patience))
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	brief := route.Rule{Name: "brief", Cluster: "c", Forward: route.Forward{Timeout: 20 * time.Millisecond}}
	p := start(f, nil, &Config{FrameTimeout: 20 * time.Millisecond, CheckCRC: true}, []route.Rule{brief},
		cluster("c", &server{addr: ln.Addr().String()}))
	path := filepath.Join(f.TempDir(), "s") // a Unix socket, because the fuzzer would run out of TCP ports
	if _, err := p.group.Listen(loop.Addr{Unix: path}, p.service.Accept); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, client, server []byte, cut uint16) {
		select {
		case says <- server:
		default:
		}
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for step := int(cut) + 1; len(client) > 0; client = client[min(step, len(client)):] {
			if _, err := c.Write(client[:min(step, len(client))]); err != nil {
				break // the proxy has closed the connection
			}
		}
		beat, _ := wire.AppendHeartbeat(nil, wire.V1, 99)
		other, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if _, err := other.Write(beat); err != nil {
			t.Fatal(err)
		}
		_ = other.SetReadDeadline(time.Now().Add(patience))
		if f, err := readFrame(other); err != nil || f.ID() != 99 {
			t.Fatalf("a heartbeat beside it: %v", err)
		}
	})
}
