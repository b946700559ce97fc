package boltload

import (
	"encoding/binary"
	"fmt"
	"log"

	"example.com/ferry/loop"
)

// backend echoes the content of each request in the response, and responds to Bolt heartbeats.
type backend struct {
	loop.Base
	response  [responseFixed + len(responseClass)]byte
	heartbeat [responseFixed]byte
}

// serve accepts connections until the process ends.
func serve(addr string) error {
	group, err := loop.New(&loop.Config{ReadBuffer: 256 << 10, TurnBytes: 1 << 20})
	if err != nil {
		return err
	}
	at, err := loop.ParseAddr(addr)
	if err != nil {
		return err
	}
	if _, err := group.Listen(at, func(*loop.Conn) loop.Handler { return newBackend() }); err != nil {
		return err
	}
	select {}
}

func newBackend() *backend {
	b := new(backend)
	b.response[0], b.response[3], b.response[4], b.response[9] = 1, commandResponse, 1, 1
	binary.BigEndian.PutUint16(b.response[12:], uint16(len(responseClass)))
	copy(b.response[responseFixed:], responseClass)
	b.heartbeat[0], b.heartbeat[4], b.heartbeat[9] = 1, 1, 1
	return b
}

// Data responds to the complete frames in p.
func (b *backend) Data(c *loop.Conn, p []byte) int {
	done := 0
	for {
		f, err := next(p[done:])
		if err == nil && f.size == 0 {
			return done
		}
		if err == nil {
			err = b.respond(c, &f)
		}
		if err != nil {
			log.Print("backend: ", err)
			c.Abort(err)
			return len(p)
		}
		done += f.size
	}
}

func (b *backend) respond(c *loop.Conn, f *received) error {
	switch {
	case f.kind == typeRequest && f.command == commandHeartbeat:
		binary.BigEndian.PutUint32(b.heartbeat[5:], f.id)
		c.Write(b.heartbeat[:])
	case f.kind == typeRequest && f.command == commandRequest && string(f.class) == requestClass:
		binary.BigEndian.PutUint32(b.response[5:], f.id)
		binary.BigEndian.PutUint32(b.response[16:], uint32(len(f.content)))
		c.Write(b.response[:])
		c.Write(f.content)
	default:
		return fmt.Errorf("a frame of type %d, command %d, class %q: want a request or a heartbeat", f.kind, f.command, f.class)
	}
	return nil
}
