package nats

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"example.com/ferry/protocol/native"
)

// door accepts the NATS clients of an embedded server and passes on what they send. The server publishes the acknowledgement of a
// stored message on the reply subject that its publisher names, and checks no permission for that: a client could write into other
// streams, and into the positions of cursors. So the door ends a connection that names a reply subject outside of its inboxes. It
// also ends one that publishes an extension with entries that only nodes write: a forged dead letter would be replayed on any tag.
type door struct {
	listener net.Listener
	connect  func() (net.Conn, error) // to the server
	log      *slog.Logger
	wait     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]struct{}
}

func openDoor(address string, connect func() (net.Conn, error), log *slog.Logger) (*door, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("engine: listen %q: %w", address, err)
	}
	d := &door{listener: l, connect: connect, log: log, open: make(map[net.Conn]struct{})}
	d.wait.Go(d.accept)
	return d, nil
}

// close ends all connections. The methods of a nil door do nothing.
func (d *door) close() {
	if d == nil {
		return
	}
	d.mu.Lock()
	d.closed = true
	_ = d.listener.Close()
	for c := range d.open {
		_ = c.Close()
	}
	d.mu.Unlock()
	d.wait.Wait()
}

func (d *door) accept() {
	for {
		client, err := d.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			d.log.Warn("engine: a NATS client was not accepted", "err", err)
			continue
		}
		d.wait.Go(func() { d.serve(client) })
	}
}

// add notes an open connection. It returns false if the door is closed.
func (d *door) add(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.open[c] = struct{}{}
	}
	return !d.closed
}

func (d *door) end(c net.Conn) {
	d.mu.Lock()
	delete(d.open, c)
	d.mu.Unlock()
	_ = c.Close()
}

func (d *door) serve(client net.Conn) {
	defer d.end(client)
	if !d.add(client) {
		return
	}
	srv, err := d.connect()
	if err != nil {
		return // the server starts again: the client reconnects
	}
	defer d.end(srv)
	if !d.add(srv) {
		return
	}
	d.wait.Go(func() {
		respond(client, srv)
		_ = client.Close()
	})
	if err := admit(srv, client); err != nil {
		d.log.Warn("engine: the connection of a NATS client was closed", "addr", client.RemoteAddr(), "err", err)
	}
}

const writeWithin = 10 * time.Second // the server's bound, too: a client that does not read longer is gone

// respond copies what the server sends until one of both ends.
func respond(client, srv net.Conn) {
	b := make([]byte, 32<<10)
	for {
		n, err := srv.Read(b)
		if n > 0 {
			_ = client.SetWriteDeadline(time.Now().Add(writeWithin)) // a closed connection: Write returns the error
			if _, err := client.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

const maxLine = 8 << 10 // as the server's MaxControlLine

// admit copies the operations of a client. It returns nil at the end of a connection, and an error for an operation that the client
// may not send.
func admit(to io.Writer, from io.Reader) error {
	in, out := bufio.NewReaderSize(from, maxLine), bufio.NewWriterSize(to, 32<<10)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("an operation has more than %d bytes", maxLine)
		}
		if err != nil {
			return nil
		}
		headers, size, err := admitLine(out, line)
		if err != nil {
			return err
		}
		if size >= 0 {
			if headers > 0 {
				if err := admitHeaders(out, in, headers); err != nil {
					return err
				}
				size -= headers
			}
			if _, err := io.CopyN(out, in, int64(size)); err != nil {
				return nil
			}
			var end [2]byte
			if _, err := io.ReadFull(in, end[:]); err != nil {
				return nil
			}
			if end != [2]byte{'\r', '\n'} {
				return errors.New("a payload is longer than its operation says")
			}
			_, _ = out.WriteString("\r\n") // Flush returns the error
		}
		if next, _ := in.Peek(in.Buffered()); bytes.IndexByte(next, '\n') < 0 { // it waits for the client now
			if err := out.Flush(); err != nil {
				return nil
			}
		}
	}
}

// admitHeaders copies the headers of a message.
func admitHeaders(out *bufio.Writer, in *bufio.Reader, size int) error {
	b := make([]byte, size)
	if _, err := io.ReadFull(in, b); err != nil {
		return nil // the next read finds the end, too
	}
	for line := range bytes.Lines(b) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if !bytes.EqualFold(bytes.TrimSpace(name), []byte(hdrExt)) {
			continue
		}
		extension, err := base64.RawStdEncoding.DecodeString(string(bytes.TrimSpace(value)))
		if err != nil {
			return fmt.Errorf("header %s: %w", hdrExt, err)
		}
		for t := range native.TLVs(extension) {
			if t.OfNode() {
				return fmt.Errorf("header %s has an entry of type %d, which only nodes write", hdrExt, t)
			}
		}
	}
	_, _ = out.Write(b) // Flush returns the error
	return nil
}

// admitLine writes an operation as the door understands it. It returns the size of the payload that follows, which begins with that
// many bytes of headers, or -1.
func admitLine(out *bufio.Writer, line []byte) (headers, size int, err error) {
	op, args, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(" "))
	name := string(bytes.ToUpper(bytes.TrimRight(op, "\t")))
	fields := bytes.Fields(args)
	numbers := 1 // sizes behind the subjects
	switch name {
	case "CONNECT", "SUB", "UNSUB", "PING", "PONG":
		if bytes.IndexByte(args, '\r') >= 0 {
			return 0, 0, fmt.Errorf("operation %s has a carriage return", name)
		}
		_, _ = fmt.Fprintf(out, "%s %s\r\n", name, args) // Flush returns the error
		return 0, -1, nil
	case "HPUB":
		numbers = 2
	case "PUB":
	default:
		return 0, 0, fmt.Errorf("unknown operation %.20q", op)
	}
	n := len(fields)
	if n < 1+numbers || n > 2+numbers {
		return 0, 0, fmt.Errorf("operation %s has %d arguments", name, n)
	}
	if n == 2+numbers && !bytes.HasPrefix(fields[1], []byte("_INBOX.")) {
		return 0, 0, fmt.Errorf("it publishes with the reply subject %.80q: name one that begins with _INBOX", fields[1])
	}
	for i, number := range fields[n-numbers:] {
		v, err := strconv.ParseUint(string(number), 10, 31)
		if err != nil {
			return 0, 0, fmt.Errorf("operation %s: size %.20q", name, number)
		}
		if size = int(v); i+1 < numbers {
			headers = size
		}
	}
	if headers > min(size, maxHeaders) {
		return 0, 0, fmt.Errorf("operation %s has %d bytes of headers: at most %d, and no more than its %d bytes", name, headers, maxHeaders, size)
	}
	_, _ = fmt.Fprintf(out, "%s %s\r\n", name, bytes.Join(fields, []byte(" ")))
	return headers, size, nil
}
