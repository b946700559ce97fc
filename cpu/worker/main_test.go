package worker

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
)

// The test binary is also the program that the tests start as a worker. These variables select its role.
const (
	roleVariable   = "FERRY_TEST_ROLE"
	scriptVariable = "FERRY_TEST_SCRIPT"
)

func TestMain(m *testing.M) {
	roles := map[string]func() error{
		"serve":  func() error { return Serve(context.Background(), ferry.HandlerFunc(obey)) },
		"script": func() error { return playScript(os.Getenv(scriptVariable)) },
		"upper": func() error {
			return Serve(context.Background(), ferry.HandlerFunc(upper))
		},
		"tight": func() error {
			return Serve(context.Background(), ferry.HandlerFunc(func(context.Context, *ferry.Message, ferry.Sender) error {
				for n := 0; ; n++ {
				}
			}))
		},
		"parent": beParent,
		"deaf":   beDeaf,
		"": func() error {
			os.Exit(m.Run())
			return nil
		},
	}
	if err := roles[os.Getenv(roleVariable)](); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(4)
	}
}

// upper is the handler of the Examples.
func upper(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	if len(in.Payload) == 0 {
		return errors.New("nothing to do")
	}
	return out.Send(ctx, ferry.Message{Tag: in.Tag, Type: in.Type, Payload: bytes.ToUpper(in.Payload)})
}

var work = make([]byte, 256<<10)

// obey is a handler whose behaviour depends on the tag.
func obey(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	switch in.Tag {
	case "", "echo":
		return out.Send(ctx, *in)
	case "none":
		return nil
	case "work": // computes for about a millisecond
		sum := uint32(0)
		for range 140 {
			sum += crc32.ChecksumIEEE(work)
		}
		return out.Send(ctx, ferry.Message{Payload: binary.LittleEndian.AppendUint32(nil, sum)})
	case "many": // sends the number of responses in the payload
		n, err := strconv.Atoi(string(in.Payload))
		if err != nil {
			return err
		}
		for i := range n {
			if err := out.Send(ctx, ferry.Message{Tag: "n/" + strconv.Itoa(i), Payload: []byte(strconv.Itoa(i))}); err != nil {
				return err
			}
		}
		return nil
	case "large": // sends a response whose length is in the payload
		n, err := strconv.Atoi(string(in.Payload))
		if err != nil {
			return err
		}
		return out.Send(ctx, ferry.Message{Payload: make([]byte, n)})
	case "pid":
		return out.Send(ctx, ferry.Message{Payload: []byte(strconv.Itoa(os.Getpid()))})
	case "fail":
		return errors.New("told to fail")
	case "panic":
		panic("told to panic")
	case "exit":
		fmt.Fprintln(os.Stderr, "last words")
		os.Exit(3)
	case "print":
		fmt.Println("to stdout")
		fmt.Fprintln(os.Stderr, "to stderr")
		return out.Send(ctx, ferry.Message{Payload: []byte("printed")})
	case "wait": // responds that it has begun, and waits for its context
		if err := out.Send(ctx, ferry.Message{Payload: []byte("begun")}); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	case "spin": // responds that it has begun, and never returns
		if err := out.Send(ctx, ferry.Message{Payload: []byte("begun")}); err != nil {
			return err
		}
		for n := 0; ; n++ {
		}
	case "linger": // returns when its context ends
		<-ctx.Done()
		return ctx.Err()
	case "tight": // never returns
		for n := 0; ; n++ {
		}
	case "orphan": // spins until it is killed
		if err := dialLifeline("serve"); err != nil {
			return err
		}
		for n := 0; ; n++ {
		}
	case "variable":
		return out.Send(ctx, ferry.Message{Payload: []byte(os.Getenv(socketVariable) + os.Getenv("EXTRA"))})
	case "child": // starts a process that outlives this one, unless it is killed
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			return err
		}
		return out.Send(ctx, ferry.Message{Payload: []byte(strconv.Itoa(cmd.Process.Pid))})
	}
	return fmt.Errorf("unknown order %q", in.Tag)
}

// playScript runs a script of protocol steps.
func playScript(script string) error {
	conn, err := parentSocket()
	if err != nil {
		return err
	}
	in := frameReader{r: conn, max: 1 << 20}
	var body []byte // body of the last frame read
	for step := range strings.SplitSeq(script, ",") {
		verb, arg, _ := strings.Cut(step, ":")
		switch verb {
		case "hello":
			_, err = conn.Write(helloFrame(1 << 20))
		case "read":
			_, body, err = in.next()
		case "write":
			var b []byte
			if b, err = hex.DecodeString(arg); err == nil {
				_, err = conn.Write(b)
			}
		case "cut": // sends the first bytes of a full response; the request states how many
			var m ferry.Message
			if m, err = parseMessage(body, ""); err == nil {
				err = writeSome(conn, m.Payload)
			}
		case "mirror":
			_, err = io.Copy(struct{ io.Writer }{conn}, struct{ io.Reader }{conn}) // one read, one write
		case "close":
			err = conn.Close()
		case "die":
			fmt.Fprintln(os.Stderr, "died as told")
			os.Exit(7)
		case "hang":
			time.Sleep(time.Hour)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fullAnswer returns all bytes that a process sends for one request: two responses and an END.
func fullAnswer() []byte {
	b := appendMessage(nil, &ferry.Message{Tag: "a", Payload: []byte("one")})
	b = appendMessage(b, &ferry.Message{Tag: "b", Payload: []byte("two")})
	return appendEnd(b, 1, done, "")
}

func writeSome(conn net.Conn, number []byte) error {
	n, err := strconv.Atoi(string(number))
	if err != nil {
		return err
	}
	_, err = conn.Write(fullAnswer()[:n])
	return err
}

// role returns a Config that runs this binary as one of the roles above.
func role(t testing.TB, name string, more ...string) Config {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Name: name, Command: []string{exe}, Env: append(append(os.Environ(), roleVariable+"="+name), more...),
		MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond, StartTimeout: time.Minute, Grace: 20 * time.Millisecond,
	}
}

func start(t testing.TB, cfg Config) *Pool {
	t.Helper()
	p, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// ask sends one message and returns the responses.
func ask(ctx context.Context, p *Pool, tag, payload string) ([]ferry.Message, error) {
	var out list
	err := p.Handle(ctx, &ferry.Message{Tag: tag, Payload: []byte(payload)}, &out)
	return out, err
}

// list is a Sender that stores the messages.
type list []ferry.Message

func (l *list) Send(_ context.Context, m ferry.Message) error {
	*l = append(*l, m.Clone())
	return nil
}

// hook is a Sender that calls a function.
type hook func(m ferry.Message) error

func (h hook) Send(_ context.Context, m ferry.Message) error { return h(m) }
