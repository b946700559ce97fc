package native_test

import (
	"testing"

	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport"
)

// TestLargeResponseDelaysNoOther begins to read a response of 32 MiB, makes a small call, and reads on.
func TestLargeResponseDelaysNoOther(t *testing.T) {
	drivers(t, func(t *testing.T, tr transport.Transport, addr string) {
		const large = 32 << 20
		service := &counted{}
		l, err := native.Protocol{MaxMessage: large, Window: 2 * large}.Listen(t.Context(), tr, addr, service)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c := connect(t, tr, l)
		c.greet()
		piece := make([]byte, 32<<10)
		flags := byte(wire.FlagEnd | wire.FlagMore)
		c.write(wire.AppendCall(nil, wire.CallFrame{Flags: flags, Call: 1, Message: piece}))
		for sent := len(piece); sent < large; sent += len(piece) {
			if flags = wire.FlagMore; sent+len(piece) == large {
				flags = 0
			}
			c.write(wire.AppendData(nil, wire.DataFrame{Flags: flags, Call: 1, Message: piece}))
		}
		received, before := 0, -1
		for received < large {
			f := c.read()
			if f == nil {
				t.Fatal("the connection has ended")
			}
			switch f.Kind() {
			case wire.Data:
				d, err := wire.ParseData(f)
				if err != nil || d.Call != 1 || d.Flags&wire.FlagMore == 0 {
					t.Fatalf("got %+v, %v", d, err)
				}
				if received == 0 { // the response has begun
					c.write(callFrame(3, wire.FlagEnd, "small"))
					eventually(t, "the small call", func() bool { return service.begun.Load() == 2 })
				}
				received += len(d.Message)
			case wire.Reply:
				r, err := wire.ParseReply(f)
				switch {
				case err != nil || r.Code != 0:
					t.Fatalf("got %+v, %v", r, err)
				case r.Call == 3:
					before = received
				default:
					received += len(r.Message)
				}
			}
		}
		if before < 0 || before > large/2 { // the system's buffers hold up to 10 MiB, others 500 KiB
			t.Errorf("the small response came behind %d of %d bytes of the large one", before, large)
		}
	})
}
