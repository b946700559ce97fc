package native_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"example.com/ferry/rpc/call/calltest"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport/memory"
	"example.com/ferry/transport/tcp"
	"example.com/ferry/transport/unix"
)

func TestContract(t *testing.T) {
	var unixes atomic.Int32
	dir := t.TempDir()
	for _, s := range []calltest.Subject{
		{Transport: tcp.New(nil)},
		{Transport: unix.New(nil), Addr: func(*testing.T) string { return filepath.Join(dir, fmt.Sprint(unixes.Add(1))) }},
		{Transport: memory.New(nil), Addr: func(*testing.T) string { return "node" }},
	} {
		t.Run(s.Transport.Scheme(), func(t *testing.T) {
			s.Protocol = native.Protocol{}
			calltest.Run(t, s)
		})
	}
}
