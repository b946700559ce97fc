package nats

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"example.com/ferry/engine"
)

// A NATS client of the listener publishes and subscribes within its tags, and reaches nothing else.
func TestListenerAccess(t *testing.T) {
	r := newRig(t, EmbeddedConfig{
		Dir: t.TempDir(), Sync: engine.SyncInterval, Listen: "127.0.0.1:0",
		Authenticate: func(c Client) (Access, error) {
			if c.Token != "secret" {
				return Access{}, errors.New("unknown token")
			}
			return Access{Name: "device", Publish: []string{"orders/+"}, Subscribe: []string{"orders/eu/#"}}, nil
		},
	})
	url := "nats://" + r.e.Addr().String()
	for _, option := range []natsgo.Option{natsgo.Token("wrong"), natsgo.UserInfo("ferry", ""), natsgo.UserInfo("ferry", "x")} {
		if nc, err := natsgo.Connect(url, option); err == nil {
			nc.Close()
			t.Error("a client without the token is let in")
		}
	}
	denied := make(chan string, 10)
	nc, err := natsgo.Connect(url, natsgo.Token("secret"), natsgo.ErrorHandler(func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) { denied <- err.Error() }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	stored := &natsgo.Msg{Subject: "ferry.orders.1", Data: []byte("from NATS"), Header: natsgo.Header{hdrType: {"4"}, hdrValid: {"1"}}}
	if m, err := nc.RequestMsg(stored, patience); err != nil || !strings.Contains(string(m.Data), `"seq":1`) {
		t.Fatalf("publish: %v, %v", m, err)
	}
	got, err := r.s.Get(t.Context(), 1)
	if err != nil || got.Tag != "orders/1" || string(got.Payload) != "from NATS" || got.Validated {
		t.Errorf("record %+v, %v, want tag orders/1 and a payload that is not validated", got, err)
	}
	expectDenied := func(what string, do func() error) {
		t.Helper()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := nc.FlushTimeout(patience); err != nil {
			t.Fatal(err)
		}
		select {
		case <-denied:
		case <-time.After(patience):
			t.Errorf("%s is not denied", what)
		}
	}
	for _, subject := range []string{"ferry.orders.1.2", "ferry.other", "$JS.API.STREAM.DELETE.ferry-orders", "$JS.API.INFO", "$KV.ferry-orders.d", "x"} {
		expectDenied("publish on "+subject, func() error { return nc.Publish(subject, nil) })
	}
	for _, subject := range []string{"ferry.orders.us", "ferry.>", ">", inboxPrefix + ".>", "$SYS.>", "$JS.ACK.>"} {
		expectDenied("subscribe to "+subject, func() error { _, err := nc.SubscribeSync(subject); return err })
	}
	sub, err := nc.SubscribeSync("ferry.orders.eu.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	r.s.Append([]engine.Record{{Tag: "orders/eu/1", Payload: []byte("live")}}, func(err error) { done <- err })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if m, err := sub.NextMsg(patience); err != nil || string(m.Data) != "live" {
		t.Errorf("subscription: %v, %v", m, err)
	}
	if len(denied) != 0 {
		t.Errorf("also denied: %s", <-denied)
	}
}

func TestEmbeddedStartErrors(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	used := newRig(t, EmbeddedConfig{Dir: t.TempDir(), Sync: engine.SyncInterval}).e.host.config.Dir
	for _, row := range []struct {
		name   string
		config EmbeddedConfig
		want   string
	}{
		{"no directory", EmbeddedConfig{}, "directory"},
		{"directory in use", EmbeddedConfig{Dir: used}, filepath.Join(used, "lock")},
		{"busy port", EmbeddedConfig{Dir: t.TempDir(), Listen: busy.Addr().String()}, busy.Addr().String()},
		{"no port", EmbeddedConfig{Dir: t.TempDir(), Listen: "localhost"}, `"localhost"`},
		{"sync never", EmbeddedConfig{Dir: t.TempDir(), Sync: engine.SyncUnknown}, "sync unknown"},
		{"large records", EmbeddedConfig{Dir: t.TempDir(), MaxRecord: 1 << 30}, "1073741824"},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, err := Embedded(t.Context(), row.config)
			if err == nil {
				_ = e.Close(t.Context())
				t.Fatal("Embedded succeeds")
			}
			if !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want an error with %s", err, row.want)
			}
		})
	}
}

// A stream that the server cannot recover is an error, not an empty stream.
func TestUnreadableStream(t *testing.T) {
	config := EmbeddedConfig{Dir: t.TempDir(), Sync: engine.SyncInterval}
	r := newRig(t, config)
	r.await(r.append(0, 1, 1))
	r.close()
	damageFile(t, filepath.Join(config.Dir, "jetstream", "$G", "streams", "ferry-orders", "meta.inf"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	config.Log = slog.New(slog.DiscardHandler)
	if e, err := Embedded(ctx, config); err == nil {
		_ = e.Close(ctx)
		t.Error("Embedded succeeds")
	} else if !strings.Contains(err.Error(), "ferry-orders") {
		t.Errorf("%v, want an error that names the stream", err)
	}
}
