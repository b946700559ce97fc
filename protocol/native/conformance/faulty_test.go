package conformance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
	"example.com/ferry/protocol/native/conformance"
)

// TestFaultyClients checks that the kit finds faults. A client without a fault passes the case.
func TestFaultyClients(t *testing.T) {
	for _, row := range []struct{ name, fault, want string }{
		{"handshake/hello", "name", "HELLO with token"},
		{"handshake/hello", "early frame", "no frame between HELLO and WELCOME"},
		{"handshake/version-above", "any version", "an error from"},
		{"publish/message", "source", "source id"},
		{"publish/message", "payload", "PUB on tag number 5"},
		{"publish/forbidden", "no errors", "an error"},
		{"publish/after-result", "no grant", "PUB with the number of a tag that RESULT has granted"},
		{"credit/window", "credit", "no PUB without credit"},
		{"ping/response", "ping", "the response to PING 0"},
		{"malformed/too-long", "keeps open", "the client closes the connection"},
		{"malformed/too-long", "crash", "exit status 2"},
		{"close/goaway", "no goaway", "GOAWAY ok"},
	} {
		t.Run(row.name+"/"+row.fault, func(t *testing.T) {
			t.Parallel()
			if r := runFaulty(t, row.name, ""); r.Verdict != conformance.Pass {
				t.Fatalf("without a fault: %v", r)
			}
			r := runFaulty(t, row.name, row.fault)
			if r.Verdict != conformance.Fail || !strings.Contains(r.Want+r.Got, row.want) {
				t.Errorf("got %v, want a failure with %q", r, row.want)
			}
		})
	}
}

// TestUnsupported checks that a case is skipped if the driver lacks what it needs.
func TestUnsupported(t *testing.T) {
	if r := runFaulty(t, "observe/message", ""); r.Verdict != conformance.Skip || !strings.Contains(r.Got, "subscribe") {
		t.Errorf("got %v, want a skipped case", r)
	}
}

// runFaulty runs one case against a small client with a fault.
func runFaulty(t *testing.T, name, fault string) conformance.Result {
	t.Helper()
	timeout := time.Minute // of a busy machine
	switch fault {
	case "ping", "keeps open", "no goaway":
		timeout = 3 * time.Second // what the client omits does not come later
	}
	results := conformance.Client(t.Context(), conformance.ClientConfig{
		Options: conformance.Options{Run: regexp.MustCompile("^" + regexp.QuoteMeta(name) + "$"), Timeout: timeout},
		Start:   func(context.Context) (conformance.Driver, error) { return startFaulty(fault), nil },
		Listen: func(context.Context) (conformance.Listener, error) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			return listener{l}, err
		},
	})
	if len(results) != 1 {
		t.Fatalf("%d results for %s", len(results), name)
	}
	return results[0]
}

type listener struct{ net.Listener }

func (l listener) Accept() (io.ReadWriteCloser, error) { return l.Listener.Accept() }
func (l listener) Addr() string                        { return "tcp://" + l.Listener.Addr().String() }

// faulty is a driver around a small client of version 1, which publishes on one tag at a time.
type faulty struct {
	io.Reader
	io.WriteCloser
	fault string
	done  chan error

	conn    net.Conn
	welcome native.WelcomeFrame
	results chan native.ResultFrame
	credits chan uint32
	number  uint32
	granted map[string]bool
	left    int // credit in bytes
}

func startFaulty(fault string) *faulty {
	in, instructions := io.Pipe()
	reports, out := io.Pipe()
	c := &faulty{Reader: reports, WriteCloser: instructions, fault: fault, done: make(chan error, 1), granted: map[string]bool{}}
	go func() {
		err := c.run(in, json.NewEncoder(out))
		_ = in.Close()
		_ = out.Close()
		if c.conn != nil {
			_ = c.conn.Close()
		}
		c.done <- err
	}()
	return c
}

func (c *faulty) CloseWrite() error { return c.Close() }
func (c *faulty) Wait() error       { return <-c.done }
func (c *faulty) Log() string       { return "" }
func (c *faulty) Kill()             { _ = c.Close() }

func (c *faulty) run(in io.Reader, out *json.Encoder) error {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var i conformance.Instruction
		if err := json.Unmarshal(lines.Bytes(), &i); err != nil {
			return err
		}
		p := conformance.Report{ID: i.ID}
		var err error
		switch i.Do {
		case "connect":
			err = c.connect(&i)
		case "publish":
			err = c.publish(&i)
		case "close":
			if c.fault != "no goaway" {
				_, err = c.conn.Write(native.AppendGoaway(nil, native.GoawayFrame{}))
			}
		case "noop":
			if c.fault == "crash" {
				return errors.New("exit status 2")
			}
		default:
			p.Unsupported = true
		}
		if err != nil && c.fault != "no errors" {
			p.Error = err.Error()
		}
		if err := out.Encode(p); err != nil {
			return err
		}
	}
	return nil
}

func (c *faulty) connect(i *conformance.Instruction) (err error) {
	if c.conn, err = net.Dial("tcp", strings.TrimPrefix(i.Addr, "tcp://")); err != nil {
		return err
	}
	h := native.HelloFrame{MinVersion: 1, MaxVersion: 1, Token: []byte(i.Token), Name: i.Name}
	if c.fault == "name" {
		h.Name = "another"
	}
	b := native.AppendHello(nil, h)
	if c.fault == "early frame" {
		b = native.AppendTag(b, native.TagFrame{Name: "early"})
	}
	if _, err := c.conn.Write(b); err != nil {
		return err
	}
	frames := make(chan native.Frame, 16)
	go c.read(frames)
	f := <-frames
	if f == nil || f.Kind() != native.Welcome {
		return errors.New("no WELCOME")
	}
	c.welcome, err = native.ParseWelcome(f)
	if c.welcome.Version != 1 && c.fault != "any version" {
		_ = c.conn.Close()
		return errors.New("another version")
	}
	c.results, c.credits, c.left = make(chan native.ResultFrame, 1), make(chan uint32, 16), int(c.welcome.Window)
	go c.handle(frames)
	return err
}

// read cuts frames until the connection ends.
func (c *faulty) read(frames chan<- native.Frame) {
	defer close(frames)
	var buf []byte
	piece := make([]byte, 4096)
	for {
		f, err := native.Split(buf, native.DefaultMaxFrame)
		switch {
		case err != nil:
			if c.fault != "keeps open" {
				_ = c.conn.Close()
			}
			return
		case f != nil:
			frames <- f
			buf = append([]byte(nil), buf[len(f):]...)
			continue
		}
		n, err := c.conn.Read(piece)
		buf = append(buf, piece[:n]...)
		if err != nil && n == 0 {
			return
		}
	}
}

func (c *faulty) handle(frames <-chan native.Frame) {
	defer close(c.results)
	defer close(c.credits)
	for f := range frames {
		switch f.Kind() {
		case native.Result:
			v, _ := native.ParseResult(f)
			c.results <- v
		case native.Credit:
			v, _ := native.ParseCredit(f)
			c.credits <- v.Bytes
		case native.Ping:
			v, _ := native.ParsePing(f)
			if c.fault != "ping" {
				_, _ = c.conn.Write(native.AppendPing(nil, true, v))
			}
		}
	}
}

func (c *faulty) publish(i *conformance.Instruction) error {
	if !c.granted[i.Tag] {
		if _, err := c.conn.Write(native.AppendTag(nil, native.TagFrame{Ref: 1, Name: i.Tag})); err != nil {
			return err
		}
		if c.fault != "no grant" {
			v, ok := <-c.results
			if !ok || v.Code != native.CodeOK {
				return errors.New("refused")
			}
			c.number = v.Value
		}
		c.granted[i.Tag] = true
	}
	h := native.PubHeader{Type: 4, Tag: c.number, Source: 0, Time: time.Now().UnixNano()}
	if c.fault != "source" {
		h.Source = ferry.SourceID(c.welcome.Source)
	}
	if i.Type == "" {
		h.Type = 0
	}
	payload := []byte(i.Payload)
	if c.fault == "payload" {
		payload = append(payload, '!')
	}
	for range max(i.Count, 1) {
		for c.left <= 0 && c.fault != "credit" {
			n, ok := <-c.credits
			if !ok {
				return errors.New("the connection is lost")
			}
			c.left += int(n)
		}
		f := native.AppendPub(nil, h, payload)
		c.left -= len(f)
		if _, err := c.conn.Write(f); err != nil {
			return err
		}
	}
	return nil
}
