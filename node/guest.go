package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync/atomic"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/regularfile"
	"example.com/ferry/stream/wasm"
)

// guest is the module of a wasm function.
type guest struct {
	module []byte
	sum    [sha256.Size]byte
}

// readGuest reads a module, which must not be larger than wasm.MaxGuest.
func readGuest(file string) (*guest, error) {
	module, err := regularfile.Read(file, wasm.MaxGuest)
	if err != nil {
		return nil, err
	}
	return newGuest(module), nil
}

func newGuest(module []byte) *guest { return &guest{module, sha256.Sum256(module)} }

// version returns the first digits of the SHA-256 of the module, which identify it in the log and on the dashboard.
func (g *guest) version() string { return hex.EncodeToString(g.sum[:6]) }

// same reports whether g and other are the same module. Either may be nil.
func (g *guest) same(other *guest) bool {
	if g == nil || other == nil {
		return g == other
	}
	return g.sum == other.sum
}

// guestBackend is the guest of a function. Another one can take its place while messages are handled.
type guestBackend struct{ atomic.Pointer[wasm.Pool] }

// Handle handles a message with the guest of the moment. One that was drained before it began the message has not seen it.
func (b *guestBackend) Handle(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
	for {
		p := b.Load()
		err := p.Handle(ctx, in, out)
		if err != wasm.ErrClosed || p == b.Load() { //nolint:errorlint // an error that wraps it says that the call had begun
			return err
		}
	}
}

// Close ends the calls and the guest.
func (b *guestBackend) Close() error { return b.Load().Close() }

// moduleOf returns the guest of the moment.
func (f *function) moduleOf() *guest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.guest
}

// replaceGuest takes the guest that next has prepared, which differs from f in nothing else: the subscription stays, so no message is
// lost and none comes twice. New calls go to the new guest; the old one finishes its own.
func (f *function) replaceGuest(next *function) {
	f.change.Lock()
	defer f.change.Unlock()
	f.mu.Lock()
	f.guest, f.version, f.Wasm = next.guest, next.version, next.Wasm
	f.mu.Unlock()
	running, ok := f.backend.(*guestBackend)
	if !ok { // it was stopped in the meantime
		return
	}
	f.mu.Lock()
	old := running.Swap(next.prepared.(*guestBackend).Load())
	f.restarts += old.Stats().Crashed
	f.mu.Unlock()
	next.prepared = nil
	f.draining.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), f.Timeout+drainGrace)
		defer cancel()
		_ = old.Drain(ctx)
	})
}

// drainGrace is how much longer than its timeout a call of a guest that was replaced may take, as its messages may wait for credit.
const drainGrace = 10 * time.Second

// guestTimeout bounds how long a guest may take to be compiled and to start: a reload and a deployment wait for it, with Node.applying held.
const guestTimeout = time.Minute

// startGuest compiles the function's guest and makes its first instance.
func (f *function) startGuest(ctx context.Context) (*guestBackend, error) {
	ctx, cancel := context.WithTimeout(ctx, guestTimeout)
	defer cancel()
	c := wasm.Config{
		Name: f.Name, Memory: int64(f.Memory), Timeout: f.Timeout, Instances: f.Concurrency, Formats: f.node.extensions.Formats,
		MaxMessage: int(f.node.config().Limits.MaxFrame), Env: f.Env, Log: f.node.log,
	}
	for _, m := range f.Mounts {
		c.Mounts = append(c.Mounts, wasm.Mount{Host: m.Host, Guest: m.Guest, Write: m.Write})
	}
	p, err := wasm.Start(ctx, f.moduleOf().module, c)
	if err != nil {
		return nil, err
	}
	b := &guestBackend{}
	b.Store(p)
	return b, nil
}

// guestsChanged reports whether the file of a function's guest has another content than the function runs. A file that cannot be
// read has: a reload says why.
func (n *Node) guestsChanged() bool {
	return slices.ContainsFunc(n.functions.all(), func(f *function) bool {
		f.mu.Lock()
		file, version, guest := f.Wasm, f.version, f.guest
		f.mu.Unlock()
		if file == "" || version > 0 {
			return false
		}
		now, err := readGuest(file)
		return err != nil || !guest.same(now)
	})
}
