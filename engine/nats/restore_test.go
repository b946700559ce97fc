package nats

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	natsgo "github.com/nats-io/nats.go"

	"example.com/ferry/engine"
)

// TestFailedRestoreLeavesNothing: a stream without its positions would not be refused the next time, and its durables would begin anew.
func TestFailedRestoreLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, EmbeddedConfig{Dir: t.TempDir(), Sync: engine.SyncInterval})
	r.await(r.append(0, 3, 10))
	c, err := r.s.Cursor(t.Context(), engine.CursorConfig{Name: "work"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var parts [][]byte
	if err := r.e.Snapshot(t.Context(), "orders", func(part []byte) error { parts = append(parts, slices.Clone(part)); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := r.e.Delete(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	restore := func(head []byte) error {
		next := -1
		return r.e.Restore(t.Context(), "orders", func() ([]byte, error) {
			switch next++; next {
			case 0:
				return head, nil
			case len(parts):
				return nil, io.EOF
			}
			return parts[next], nil
		})
	}
	for what, damage := range map[string][2]string{
		"the name of a cursor": {`"work"`, `"no name"`},
		"the mark of ferry":    {metaTags, "other"},
	} {
		if err := restore(bytes.Replace(parts[0], []byte(damage[0]), []byte(damage[1]), 1)); err == nil {
			t.Errorf("%s is damaged: restored", what)
		}
		names, err := r.e.streamNames(t.Context())
		if err != nil || len(names) != 0 {
			t.Fatalf("%s is damaged: %q is left, %v", what, names, err)
		}
	}
	if err := restore(parts[0]); err != nil {
		t.Error(err)
	}
}

// TestRestoreAgain: a server that cannot make the stream, because the directory of the account goes, is sent the snapshot again. A file in
// the directory's place stands for that. It is removed when the second attempt begins.
func TestRestoreAgain(t *testing.T) {
	for _, row := range []struct {
		name          string
		records, size int
	}{
		{"one chunk", 3, 10},
		{"more than is kept", 2 * maxHeld >> 16, 1 << 16},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRig(t, EmbeddedConfig{Dir: t.TempDir(), Sync: engine.SyncInterval})
			r.await(r.appendRandom(row.records, row.size))
			var parts [][]byte
			if err := r.e.Snapshot(t.Context(), "orders", func(part []byte) error { parts = append(parts, slices.Clone(part)); return nil }); err != nil {
				t.Fatal(err)
			}
			o := serverOptions(t, "alone")
			e := connectTo(t, startWith(t, o))
			account := filepath.Join(o.StoreDir, "jetstream", "$G")
			if err := os.WriteFile(account, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			var attempts atomic.Int32
			sub, err := e.write.Subscribe("$JS.API.STREAM.RESTORE.*", func(*natsgo.Msg) {
				if attempts.Add(1) == 2 {
					os.Remove(account)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Unsubscribe()
			if err := e.write.Flush(); err != nil {
				t.Fatal(err)
			}
			next := 0
			err = e.Restore(t.Context(), "orders", func() ([]byte, error) {
				if next == len(parts) {
					return nil, io.EOF
				}
				next++
				return parts[next-1], nil
			})
			if err != nil {
				t.Fatalf("after %d attempts: %v", attempts.Load(), err)
			}
			if attempts.Load() < 2 {
				t.Error("the first attempt did not fail")
			}
			s, err := e.Open(t.Context(), engine.Config{Name: "orders", Tags: []string{"orders/#"}})
			if err != nil {
				t.Fatal(err)
			}
			if info, err := s.Info(t.Context()); err != nil || info.Records != uint64(row.records) {
				t.Errorf("restored %+v, %v, want %d records", info, err, row.records)
			}
		})
	}
}

// appendRandom appends n records that do not compress.
func (r *rig) appendRandom(n, size int) <-chan error {
	done := make(chan error, n)
	random := rand.NewChaCha8([32]byte{})
	for range n {
		payload := make([]byte, size)
		_, _ = random.Read(payload)
		r.s.Append([]engine.Record{{Tag: "orders/a", Payload: payload}}, func(err error) { done <- err })
	}
	return done
}
