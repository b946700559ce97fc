package broker

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"testing"

	"example.com/ferry"
	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport/tcp"
)

const benchRecords = 50_000

// openBenchStream returns a stream with benchRecords events of about size bytes on 100 tags.
func openBenchStream(b *testing.B, size int) Stored {
	e := memory.New()
	b.Cleanup(func() { _ = e.Close(context.Background()) })
	cfg := engine.Config{Name: "events", Tags: []string{"events/#"}, InMemory: true, MaxBytes: 1 << 30}
	s, err := e.Open(context.Background(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	for i := range benchRecords {
		value := "1"
		if i%100 == 0 {
			value = "31.5"
		}
		report := func(error) {}
		if i == benchRecords-1 {
			report = func(err error) { done <- err }
		}
		s.Append([]engine.Record{{Tag: fmt.Sprintf("events/%d", i%100), Type: ferry.CBOR, Payload: event(size, "pump-1", value)}}, report)
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	return Stored{Stream: s, Config: cfg, AtLeastOnce: true}
}

// storedClient reads the messages of a stored subscription over tcp.
type storedClient struct {
	b    *testing.B
	conn net.Conn
	in   *bufio.Reader
	sub  uint32
	out  []byte
}

func newStoredClient(b *testing.B, s Stored) *storedClient {
	broker, err := New(Config{Identify: Anyone, Formats: []format.Format{cbor.Format{}}, Log: slog.New(slog.DiscardHandler), Stored: []Stored{s}})
	if err != nil {
		b.Fatal(err)
	}
	l, err := tcp.New(nil).Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = broker.Serve(context.Background(), l, ValidateOff) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_, _ = conn.Close(), l.Close()
		_ = broker.Shutdown(context.Background())
	})
	c := &storedClient{b: b, conn: conn, in: bufio.NewReaderSize(conn, 256<<10)}
	c.write(native.AppendHello(nil, native.HelloFrame{MinVersion: 2, MaxVersion: 2}))
	c.frame()
	return c
}

func (c *storedClient) write(p []byte) {
	if _, err := c.conn.Write(p); err != nil {
		c.b.Fatal(err)
	}
}

// frame reads a frame and returns its kind and length. Of a PUB it keeps the sequence number, which is behind the tag.
func (c *storedClient) frame() (kind native.Kind, size int, sequence uint64) {
	head, err := c.in.Peek(native.HeaderSize)
	if err != nil {
		c.b.Fatal(err)
	}
	kind, size = native.Kind(head[4]), native.Size(head)
	if kind == native.Pub {
		p, err := c.in.Peek(native.PubHeaderSize + 64)
		if err != nil {
			c.b.Fatal(err)
		}
		tag := int(binary.BigEndian.Uint16(p[native.PubHeaderSize+1:]))
		sequence = binary.BigEndian.Uint64(p[native.PubHeaderSize+3+tag+3:])
	}
	if _, err := c.in.Discard(size); err != nil {
		c.b.Fatal(err)
	}
	return kind, size, sequence
}

// take reads n messages, returns their credit, and acks them if ack is set.
func (c *storedClient) take(n int, ack bool) {
	bytes, ranges := 0, []byte(nil)
	for n > 0 {
		kind, size, sequence := c.frame()
		if kind != native.Pub {
			continue
		}
		n--
		bytes += size
		if ack {
			ranges = native.AppendRange(ranges, native.Range{First: sequence, Count: 1})
		}
		if bytes >= 64<<10 || n == 0 {
			c.out = c.out[:0]
			if ack {
				c.out = native.AppendAck(c.out, native.AckFrame{Sub: c.sub, Ranges: ranges})
			}
			c.write(native.AppendCredit(c.out, native.CreditFrame{Sub: c.sub, Tag: native.ByName, Bytes: uint32(bytes)}))
			bytes, ranges = 0, ranges[:0]
		}
	}
}

// BenchmarkStored measures messages a second over tcp on this machine: a replay, a replay with a predicate that takes one percent (the
// figure counts the messages that are scanned), and a durable with one member that acks.
func BenchmarkStored(b *testing.B) {
	for _, size := range []int{256, 1 << 10} {
		s := openBenchStream(b, size)
		for _, row := range []struct {
			name  string
			where string
			ack   bool
		}{{"replay", "", false}, {"where", "readings.0.value > 30", false}, {"durable", "", true}} {
			b.Run(fmt.Sprintf("%s/%d", row.name, size), func(b *testing.B) {
				c := newStoredClient(b, s)
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					c.sub++
					v := native.SubFrame{ID: c.sub, Filter: "events/#", Start: native.StartFirst, Where: row.where, Window: 1 << 20}
					n := benchRecords
					if row.where != "" {
						n /= 100
					}
					if row.ack {
						v.Durable = fmt.Sprintf("%s-%d-%d", row.name, size, b.N*1000+int(c.sub))
					}
					c.write(native.AppendSub(nil, v))
					c.take(n, row.ack)
					c.write(native.AppendUnsub(nil, c.sub))
				}
				b.ReportMetric(float64(b.N)*benchRecords/b.Elapsed().Seconds(), "messages/s")
			})
		}
	}
}
