package tlslayer

import (
	"crypto/tls"
	"runtime"

	"example.com/ferry/loop"
)

// Config bounds the handshakes of a Layers. The zero value works.
type Config struct {
	// Handshakes is how many handshakes have a goroutine at one time. One listener gets at most three quarters of them. Zero
	// means 256 for each core that Go may use.
	Handshakes int
	// Waiting is how many more connections of one listener wait for a goroutine. The next connection fails with ErrBusy. Zero
	// means 4096.
	Waiting int
}

// Layers makes the layers of one loop.Group. Any goroutine may call its methods.
type Layers struct {
	buffers []*readBuffer // by index of the loop
	places  *places
	clients *Bound // bound of all client sides
	waiting int
}

// New returns the Layers of a group with the given number of loops. A nil c means defaults.
func New(loops int, c *Config) *Layers {
	cfg := Config{}
	if c != nil {
		cfg = *c
	}
	if cfg.Handshakes <= 0 {
		cfg.Handshakes = 256 * runtime.GOMAXPROCS(0)
	}
	if cfg.Waiting <= 0 {
		cfg.Waiting = 4096
	}
	ls := &Layers{places: newPlaces(cfg.Handshakes), waiting: cfg.Waiting}
	ls.clients = ls.Bound()
	for range loops {
		ls.buffers = append(ls.buffers, &readBuffer{})
	}
	return ls
}

// Bound returns a bound for the handshakes of one listener. Listeners with a Bound each take turns when handshakes wait.
func (ls *Layers) Bound() *Bound {
	return &Bound{places: ls.places, most: max(ls.places.total*3/4, 1), mostWaiting: ls.waiting}
}

// Server returns the server's side of a connection that l has accepted. config is shared by all connections of a listener, so
// that they share its session tickets.
func (ls *Layers) Server(l *loop.Loop, config *tls.Config, b *Bound) *Layer {
	return &Layer{loop: l, config: config, bound: b, shared: ls.buffers[l.Index()], phase: awaitingHello}
}

// Client returns the client's side of a connection that l has dialled. config.ServerName must be set, unless verification is
// off.
func (ls *Layers) Client(l *loop.Loop, config *tls.Config) *Layer {
	return &Layer{loop: l, config: config, bound: ls.clients, shared: ls.buffers[l.Index()], phase: shaking, client: true}
}
