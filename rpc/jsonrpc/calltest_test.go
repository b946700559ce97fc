package jsonrpc_test

import (
	"bytes"
	"testing"

	"example.com/ferry/rpc/call/calltest"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/transport/memory"
	"example.com/ferry/transport/tcp"
)

func TestContract(t *testing.T) {
	subject := calltest.Subject{
		Protocol: jsonrpc.Protocol{}, Transport: tcp.New(nil), UnaryOnly: true, LateNotice: true, Content: "application/json",
		Message: func(size int, seed byte) []byte { // a JSON text
			text := bytes.Repeat([]byte{'a' + seed%26}, max(size, 2))
			text[0], text[len(text)-1] = '"', '"'
			return text
		},
		MaxMessage: 4<<20 - 1024, // the rest is for the envelope
	}
	t.Run("tcp", func(t *testing.T) { calltest.Run(t, subject) })
	subject.Transport, subject.Addr = memory.New(nil), func(t *testing.T) string { return t.Name() }
	t.Run("memory", func(t *testing.T) { calltest.Run(t, subject) })
}
