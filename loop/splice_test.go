package loop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// passer forwards frames to another connection: four bytes of length, then as many bytes. It does not read the content of a frame if
// the loop can splice.
type passer struct {
	Base
	to   *Conn
	left int64 // bytes of the frame that are missing
}

var _ Splicer = (*passer)(nil)

func (p *passer) Data(c *Conn, b []byte) int {
	n := 0
	for n < len(b) {
		if p.left == 0 {
			if len(b)-n < 4 {
				break
			}
			p.left = int64(binary.BigEndian.Uint32(b[n:]))
			p.to.Write(b[n : n+4])
			n += 4
			continue
		}
		k := int(min(p.left, int64(len(b)-n)))
		p.to.WriteNow(b[n : n+k])
		p.left -= int64(k)
		n += k
	}
	p.moved(c)
	return n
}

func (p *passer) moved(c *Conn) {
	if p.left > 0 {
		c.Splice()
	}
	if p.to.Full() {
		c.PauseReading()
	}
}

func (p *passer) SpliceTo(*Conn) (*Conn, int64) { return p.to, p.left }

func (p *passer) Spliced(c *Conn, n int) {
	p.left -= int64(n)
	p.moved(c)
}

func (p *passer) Drained(*Conn)    { p.to.ResumeReading() }
func (p *passer) HalfClosed(*Conn) { p.to.CloseWrite() }

func (p *passer) Closed(_ *Conn, err error) {
	if err != nil {
		p.to.Abort(err)
	} else {
		p.to.Close()
	}
}

// passers accepts connections and passes the bytes of each to a connection of its own, and back.
func passers(to Addr) AcceptFunc {
	return func(c *Conn) Handler {
		front, back := &passer{}, &passer{to: c}
		front.to = c.Loop().Dial(to, patience, back)
		return front
	}
}

// frames returns frames of random sizes with random content.
func frames(rng *rand.Rand, count, most int) []byte {
	var all []byte
	for range count {
		n := rng.IntN(most)
		if rng.IntN(3) == 0 {
			n = rng.IntN(100)
		}
		all = binary.BigEndian.AppendUint32(all, uint32(n))
		all = append(all, noise(rng.Uint64(), n)...)
	}
	return all
}

// writeInPieces writes p in pieces of random sizes.
func writeInPieces(rng *rand.Rand, w io.Writer, p []byte) error {
	for len(p) > 0 {
		n := min(len(p), 1+rng.IntN(1<<(4+rng.IntN(15))))
		if _, err := w.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// readInPieces reads n bytes with reads of random sizes.
func readInPieces(rng *rand.Rand, r io.Reader, n int) ([]byte, error) {
	got := make([]byte, n)
	for at := 0; at < n; {
		k, err := r.Read(got[at:min(n, at+1+rng.IntN(1<<(4+rng.IntN(15))))])
		at += k
		if err != nil {
			return got[:at], err
		}
	}
	return got, nil
}

// TestPassing forwards frames of random sizes in both directions between peers that write and read in random pieces. Some peers reset
// their connection in the middle. The other connections must get their own bytes only, in order.
func TestPassing(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops = 1 // all connections share the pipe and the buffers of one loop
		g := start(t, cfg)
		server, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		go func() {
			for {
				conn, err := server.Accept()
				if err != nil {
					return
				}
				go func() { // an echo that reads in random pieces
					defer conn.Close()
					rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
					buf := make([]byte, 1<<18)
					for {
						n, err := conn.Read(buf[:1+rng.IntN(len(buf))])
						if err != nil || writeInPieces(rng, conn, buf[:n]) != nil {
							return
						}
					}
				}()
			}
		}()
		at := listen(t, g, passers(addrOf(server)))
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(i), 2))
				for range 3 {
					conn := connectSlow(t, at)
					sent := frames(rng, 6, 400_000)
					stop := len(sent)
					if i%2 == 1 {
						stop = rng.IntN(len(sent))
					}
					go func() {
						if writeInPieces(rand.New(rand.NewPCG(uint64(i), 3)), conn, sent) == nil && stop == len(sent) {
							_ = conn.(*net.TCPConn).CloseWrite()
						}
					}()
					got, err := readInPieces(rng, conn, stop)
					if err != nil || !bytes.Equal(got, sent[:stop]) {
						t.Errorf("peer %d: got %d bytes of %d, or others: %v", i, len(got), stop, err)
					}
					if stop < len(sent) {
						_ = conn.(*net.TCPConn).SetLinger(0)
					} else if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
						t.Errorf("peer %d: after the last byte: %d bytes, %v", i, n, err)
					}
					conn.Close()
				}
			})
		}
		all.Wait()
		eventually(t, "the end of all connections", func() bool { sum, _ := g.Stats(); return sum.Conns == 0 })
		sum, _ := g.Stats()
		if sum.Queues != 0 || sum.Unread != 0 {
			t.Errorf("%+v: something is left", sum)
		}
		if spliced := sum.Spliced > 0; spliced != (g.Loops()[0].splicer != nil) {
			t.Errorf("%d bytes spliced", sum.Spliced)
		}
	})
}

func addrOf(l net.Listener) Addr { return Addr{TCP: l.Addr().(*net.TCPAddr).AddrPort()} }

// A slow peer holds up the source: what waits for it in the process is bounded, and it gets every byte later.
func TestPassingToSlowPeer(t *testing.T) {
	both(t, func(t *testing.T, cfg Config) {
		cfg.Loops = 1
		g := start(t, cfg)
		content := append(binary.BigEndian.AppendUint32(nil, 64<<20), bytes.Repeat(noise(1, 1<<20), 64)...)
		server, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		go func() {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = conn.Write(content)
		}()
		conn := connectSlow(t, listen(t, g, passers(addrOf(server))))
		l := g.Loops()[0]
		queued := func() (n int, stopped bool) {
			l.do(func() {
				for c := range l.All() {
					n, stopped = n+c.Queued(), stopped || c.is(blocked)
				}
			})
			return n, stopped
		}
		eventually(t, "a full socket", func() bool { _, stopped := queued(); return stopped })
		rng := rand.New(rand.NewPCG(7, 7))
		for rest := content; len(rest) > 0; {
			n := min(len(rest), 1+rng.IntN(4<<20))
			got := make([]byte, n)
			if k, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, rest[:n]) {
				t.Fatalf("%d bytes before the end: got %d of %d, or others: %v", len(rest), k, n, err)
			}
			rest = rest[n:]
			if waiting, _ := queued(); waiting > spliceBytes+2*cfg.withRead() {
				t.Fatalf("%d bytes wait in the process", waiting)
			}
		}
	})
}

// withRead returns the size of a read.
func (c Config) withRead() int {
	d, _ := c.withDefaults()
	return d.ReadBuffer
}
