package native

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/peer"
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/workers"
)

// silent is a connection that nothing is read from and written to.
type silent struct{ net.Conn }

func (silent) Close() error                     { return nil }
func (silent) Write(b []byte) (int, error)      { return len(b), nil }
func (silent) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (silent) SetWriteDeadline(time.Time) error { return nil }

// reading is a service whose methods read their requests and repeat the last one.
type reading struct{ name string }

func (reading) Method(name string) call.Method { return reading{name} }
func (r reading) Name() string                 { return r.name }
func (r reading) Shape() (in, out bool)        { return len(r.name)%2 == 0, len(r.name)%3 == 0 }

func (reading) Serve(_ context.Context, _ call.Method, s call.ServerStream) {
	var last []byte
	for {
		data, err := s.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			s.Finish(last, call.StatusOf(err), nil)
			return
		}
		last = append([]byte{}, data...)
	}
}

// FuzzFrames passes any frames to a server's end, which has no call of its own, and to a client's, which has.
func FuzzFrames(f *testing.F) {
	file, err := os.Open("../../protocol/native/testdata/calls.txt")
	if err != nil {
		f.Fatal(err)
	}
	var all []byte
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if b, err := hex.DecodeString(lines.Text()); err == nil && !strings.HasPrefix(lines.Text(), "#") {
			f.Add(b)
			all = append(all, b...)
		}
	}
	_ = file.Close()
	f.Add(all[66:]) // without the handshake
	f.Fuzz(func(t *testing.T, data []byte) {
		for parity := range uint32(2) {
			fuzzFrames(t, data, parity)
		}
	})
}

func fuzzFrames(t *testing.T, data []byte, parity uint32) {
	var pool workers.Pool
	defer pool.Close()
	s := &session{}
	s.init(Protocol{MaxMessage: 1 << 16, MaxCalls: 8}.resolved(), wire.CallLimits{Calls: 8, Window: 1 << 16, StreamWindow: 1 << 10}, parity)
	s.service, s.workers = reading{}, &pool
	s.peer = peer.NewDriven(silent{}, peer.Config{Remote: "client", OnClosing: s.onClosing}, func() {})
	s.peer.Welcome(wire.WelcomeFrame{MaxFrame: 1 << 18, Heartbeat: 1000})
	s.prepare(1 << 18)
	stream, err := s.Open(t.Context(), &call.Head{Method: "a.A.B"})
	if err != nil {
		t.Fatal(err)
	}
	r := s.newReceiver()
	for {
		frame, err := wire.Split(data, 1<<18)
		if err != nil || frame == nil {
			break
		}
		if peer.Dispatch(s.peer, &frameHandlers, r, frame, nil, false) != nil {
			break
		}
		data = data[len(frame):]
	}
	s.peer.Ended(io.EOF)
	for err == nil { // what has arrived, and then the end
		_, err = stream.Recv()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken < 0 || s.slots < 0 || s.slots > 8 {
		t.Errorf("%d bytes taken, %d slots", s.taken, s.slots)
	}
}
