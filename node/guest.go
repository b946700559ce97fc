package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"

	"example.com/ferry/stream/wasm"
)

// guest is the module of a wasm function.
type guest struct {
	module []byte
	sum    [sha256.Size]byte
}

// readGuest reads a module, which must not be larger than wasm.MaxGuest.
func readGuest(file string) (*guest, error) {
	if info, err := os.Stat(file); err != nil {
		return nil, err
	} else if info.Size() > wasm.MaxGuest {
		return nil, fmt.Errorf("%s has %d bytes: at most %d", file, info.Size(), wasm.MaxGuest)
	}
	module, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return newGuest(module), nil
}

func newGuest(module []byte) *guest { return &guest{module, sha256.Sum256(module)} }

// version returns the first digits of the SHA-256 of the module, by which people tell versions apart.
func (g *guest) version() string { return hex.EncodeToString(g.sum[:6]) }

// same reports whether g and other are the same module. Either may be nil.
func (g *guest) same(other *guest) bool {
	if g == nil || other == nil {
		return g == other
	}
	return g.sum == other.sum
}

// startGuest compiles the function's guest and makes its first instance.
func (f *function) startGuest(ctx context.Context) (*wasm.Pool, error) {
	c := wasm.Config{
		Name: f.Name, Memory: int64(f.Memory), Timeout: f.Timeout, Instances: f.Concurrency, Formats: f.node.extensions.Formats,
		MaxMessage: int(f.node.config().Limits.MaxFrame), Env: f.Env, Log: f.node.log,
	}
	for _, m := range f.Mounts {
		c.Mounts = append(c.Mounts, wasm.Mount{Host: m.Host, Guest: m.Guest, Write: m.Write})
	}
	return wasm.Start(ctx, f.guest.module, c)
}

// guestsChanged reports whether the file of a function's guest has another content than the function runs. A file that cannot be
// read has: a reload says why.
func (n *Node) guestsChanged() bool {
	return slices.ContainsFunc(n.functions.all(), func(f *function) bool {
		if f.Wasm == "" {
			return false
		}
		now, err := readGuest(f.Wasm)
		return err != nil || !f.guest.same(now)
	})
}
