package target

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/protocol/bolt"
	"example.com/ferry/transport/tcp"
)

// TestBolt compares the counts of both sides, and checks responses that are wrong.
func TestBolt(t *testing.T) {
	t.Parallel()
	respond := func(f bolt.Frame) bolt.Message {
		return bolt.Message{Dialect: f.Dialect(), Type: bolt.Response, Command: bolt.CommandResponse, ID: f.ID(), Codec: bolt.Hessian2, Content: f.Content()}
	}
	for _, row := range []struct {
		name    string
		dialect bolt.Dialect
		serve   func(f bolt.Frame) []byte
		kind    string
	}{
		{"v1", bolt.V1, func(f bolt.Frame) []byte { b, _ := bolt.Append(nil, respond(f)); return b }, ""},
		{"v2", bolt.V2, func(f bolt.Frame) []byte { b, _ := bolt.Append(nil, respond(f)); return b }, ""},
		{"v2 with CRC", bolt.V2CRC, func(f bolt.Frame) []byte {
			m := respond(f)
			m.Switch = bolt.SwitchCRC
			b, _ := bolt.Append(nil, m)
			return b
		}, ""},
		{"a wrong CRC", bolt.V2CRC, func(f bolt.Frame) []byte {
			m := respond(f)
			m.Switch = bolt.SwitchCRC
			b, _ := bolt.Append(nil, m)
			b[len(b)-1]++
			return b
		}, "wrong CRC"},
		{"another status", bolt.V1, func(f bolt.Frame) []byte { return bolt.AppendResponse(nil, f, 8) }, "status " + bolt.Status(8).String()},
		{"another id", bolt.V1, func(f bolt.Frame) []byte {
			m := respond(f)
			m.ID++
			b, _ := bolt.Append(nil, m)
			return b
		}, "wrong frame"},
		{"not SOFABolt", bolt.V1, func(bolt.Frame) []byte { return []byte("HTTP/1.1 400 Bad Request\r\n\r\n") }, "not SOFABolt"},
		{"silence", bolt.V1, func(bolt.Frame) []byte { return nil }, "timeout"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			var served atomic.Int64
			go func() {
				for {
					nc, err := ln.Accept()
					if err != nil {
						return
					}
					go serveBolt(nc, func(f bolt.Frame) []byte { served.Add(1); return row.serve(f) })
				}
			}()
			timeout := time.Minute
			if row.name == "silence" {
				timeout = 20 * time.Millisecond
			}
			n := 100
			if row.kind != "" {
				n = 3
			}
			r := once(t, &Bolt{Transport: tcp.New(nil), Addr: ln.Addr().String(), Timeout: timeout, Request: bolt.Message{
				Dialect: row.dialect, Codec: bolt.Hessian2, Class: "a.B", Header: bolt.AppendPair(nil, bolt.Service, "a.B:1.0"), Content: make([]byte, 20_000),
			}}, n)
			if int(served.Load()) != n || row.kind == "" && r.OK != n || row.kind != "" && (r.Failed != n || r.Failures[0].Kind != row.kind) {
				t.Errorf("%d served, %d OK, failures %v %v, want %d and %q", served.Load(), r.OK, r.Failures, r.Examples, n, row.kind)
			}
		})
	}
}

// serveBolt responds to the requests of a connection.
func serveBolt(nc net.Conn, serve func(bolt.Frame) []byte) {
	defer nc.Close()
	var in []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := nc.Read(buf)
		if err != nil {
			return
		}
		in = append(in, buf[:n]...)
		f, need, err := bolt.Next(in, bolt.Limits{})
		if err != nil {
			return
		}
		if need > 0 || len(in) < f.FrameLen() {
			continue
		}
		if _, err := nc.Write(serve(f)); err != nil {
			return
		}
		in = in[f.FrameLen():]
	}
}
