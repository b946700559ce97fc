package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"example.com/ferry"
	"example.com/ferry/bench/internal/ferrynode"
	"example.com/ferry/bench/internal/natsnode"
	"example.com/ferry/bench/internal/pinned"
	"example.com/ferry/internal/pki"
	"example.com/ferry/stream"
	"example.com/ferry/transport/tcp"
)

// A process of this program that finds this variable in its environment is a NATS server at the address.
const natsVariable = "FERRY_BENCH_PYTHON_CLIENT_NATS"

const size = 256 // bytes of a payload

// server is the server of a client, on core 0.
type server struct {
	*pinned.Process
	addr string // as load.py takes it
	host string
	data string // ferry's data directory
}

// message returns the payload of message n.
func message(n int) []byte {
	b := bytes.Repeat([]byte("x"), size)
	binary.BigEndian.PutUint64(b, uint64(n))
	return b
}

func launch(dir string, s *server, argv ...string) (*server, error) {
	p, err := pinned.Start([]int{0}, dir, argv...)
	if err != nil {
		return nil, err
	}
	s.Process = p
	if err := p.WaitListening(s.host, 30*time.Second); err != nil {
		p.Stop()
		return nil, err
	}
	return s, nil
}

func (e *experiment) ferryServer() (*server, error) {
	addr, err := ferrynode.FreeAddr()
	if err != nil {
		return nil, err
	}
	admin, err := ferrynode.FreeAddr()
	if err != nil {
		return nil, err
	}
	data, file := filepath.Join(e.dir, "data"), filepath.Join(e.dir, "node.yaml")
	text := fmt.Sprintf("listeners: [{address: 'tcp://%s'}]\nadmin: {address: %s}\ndata_dir: %s\n", addr, admin, data)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	s := &server{addr: addr + "," + filepath.Join(data, pki.TokenFile), host: addr, data: data}
	return launch(e.dir, s, filepath.Join(e.dir, ferrynode.Binary), "run", "-c", file)
}

func publishFerry(s *server, count int) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	token, err := pki.ReadToken(filepath.Join(s.data, pki.TokenFile))
	if err != nil {
		return err
	}
	client, err := stream.Dial(ctx, tcp.New(nil), s.host, &stream.Config{Token: []byte(token)})
	if err != nil {
		return err
	}
	defer client.Close()
	source, err := client.Source(ctx, "bench")
	if err != nil {
		return err
	}
	for n := range count {
		if err := source.Send(ctx, ferry.Message{Payload: message(n)}); err != nil {
			return err
		}
	}
	return client.Flush(ctx)
}

// serverMain runs a NATS server if this process was started as one, and does not return then.
func serverMain() {
	addr := os.Getenv(natsVariable)
	if addr == "" {
		return
	}
	if _, err := natsnode.Start(addr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

func (e *experiment) natsServer() (*server, error) {
	addr, err := ferrynode.FreeAddr()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return launch(e.dir, &server{addr: addr, host: addr}, "env", natsVariable+"="+addr, self)
}

func publishNATS(s *server, count int) error {
	return send(s, "CONNECT {\"verbose\":false}\r\n", "PING\r\n", func(r *bufio.Reader) error {
		for {
			line, err := r.ReadString('\n')
			if err != nil || line == "PONG\r\n" {
				return err
			}
		}
	}, count, func(b *bufio.Writer, n int) { fmt.Fprintf(b, "PUB bench %d\r\n%s\r\n", size, message(n)) })
}

// mosquittoVersion returns the version of mosquitto, or "" if it is not installed.
func mosquittoVersion() string {
	text, _ := exec.Command("mosquitto", "-h").Output() // exits with 1
	return strings.TrimSpace(regexp.MustCompile(`mosquitto version \S+`).FindString(string(text)))
}

func (e *experiment) mosquitto() (*server, error) {
	addr, err := ferrynode.FreeAddr()
	if err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(addr)
	file := filepath.Join(e.dir, "mosquitto.conf")
	text := fmt.Sprintf("listener %s %s\nallow_anonymous true\nmax_queued_messages 0\nlog_type error\n", port, host)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return launch(e.dir, &server{addr: addr, host: addr}, "mosquitto", "-c", file)
}

func publishMQTT(s *server, count int) error {
	const hello = "\x10\x10\x00\x04MQTT\x04\x02\x00\x00\x00\x04load"
	head := []byte{0x30, 0x87, 0x02, 0, 5} // PUBLISH with QoS 0, 263 bytes: the length of the topic, the topic, the payload
	return send(s, hello, "\xc0\x00", func(r *bufio.Reader) error {
		for {
			kind, err := r.ReadByte()
			if err != nil || kind == 0xd0 { // PINGRESP
				return err
			}
		}
	}, count, func(b *bufio.Writer, n int) {
		_, _ = b.Write(head)
		_, _ = b.WriteString("bench")
		_, _ = b.Write(message(n))
	})
}

// send writes hello, count messages and last to a server, and waits for the response to last.
func send(s *server, hello, last string, response func(*bufio.Reader) error, count int, write func(*bufio.Writer, int)) error {
	c, err := net.Dial("tcp", s.host)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	b := bufio.NewWriterSize(c, 64<<10)
	_, _ = b.WriteString(hello)
	for n := range count {
		write(b, n)
	}
	_, _ = b.WriteString(last)
	if err := b.Flush(); err != nil {
		return err
	}
	return response(bufio.NewReader(c))
}
