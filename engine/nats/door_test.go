package nats

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"example.com/ferry/engine"
	"example.com/ferry/protocol/native"
)

// TestListenerReplies: the server publishes an acknowledgement on the reply subject that a NATS client names. The client reaches no
// subject by it on which it may not publish itself.
func TestListenerReplies(t *testing.T) {
	t.Parallel()
	r := newRig(t, EmbeddedConfig{
		Dir: t.TempDir(), Sync: engine.SyncInterval, Listen: "127.0.0.1:0",
		Authenticate: func(Client) (Access, error) { return Access{Name: "device", Publish: []string{"orders/+"}}, nil },
	})
	private, err := r.e.Open(t.Context(), engine.Config{Name: "private", Tags: []string{"private/#"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.s.Cursor(t.Context(), engine.CursorConfig{Name: "work", Start: engine.Start{At: engine.AtFirst}})
	if err != nil {
		t.Fatal(err)
	}
	c.Commit(engine.Position{Floor: 3})
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.await(r.append(0, 5, 10))
	connect := func(options ...natsgo.Option) *natsgo.Conn {
		t.Helper()
		nc, err := natsgo.Connect("nats://"+r.e.Addr().String(), append(options, natsgo.Token("secret"), natsgo.NoReconnect())...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	for _, reply := range []string{"$JS.API.STREAM.PURGE.ferry-orders", "ferry.private.1", "$KV.ferry-orders.work", inboxPrefix + ".x"} {
		ended := make(chan struct{})
		nc := connect(natsgo.ClosedHandler(func(*natsgo.Conn) { close(ended) }))
		if err := nc.PublishMsg(&natsgo.Msg{Subject: "ferry.orders.1", Reply: reply, Data: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
		case <-time.After(patience):
			t.Errorf("reply subject %s: the connection stays", reply)
		}
	}
	if _, err := connect().Request("ferry.orders.1", []byte("x"), patience); err != nil {
		t.Fatal(err)
	}
	r.await(r.append(5, 1, 10))
	info, err := r.s.Info(t.Context())
	if err != nil || info.First != 1 || info.Records != 7 {
		t.Errorf("the stream has %d records from %d on, %v: want those that were stored", info.Records, info.First, err)
	}
	if info, err := private.Info(t.Context()); err != nil || info.Records != 0 {
		t.Errorf("another stream has %d records, %v", info.Records, err)
	}
	if l, err := r.s.Cursors(t.Context()); err != nil || len(l) != 1 || l[0].Position.Floor != 3 {
		t.Errorf("cursors %+v, %v, want one at 3", l, err)
	}
}

// hpub returns a message with headers.
func hpub(headers string) string {
	headers = "NATS/1.0\r\n" + headers + "\r\n\r\n"
	return fmt.Sprintf("HPUB a %d %d\r\n%sx\r\n", len(headers), len(headers)+1, headers)
}

// TestAdmit: the server gets the operations in one form, so that it understands each as the door does.
func TestAdmit(t *testing.T) {
	t.Parallel()
	key := base64.RawStdEncoding.EncodeToString(native.AppendTLV(nil, native.TLVKey, "k"))
	forged := base64.RawStdEncoding.EncodeToString(native.AppendDeadLetter(nil, native.DeadLetter{Stream: "s"}))
	for _, row := range []struct{ name, sent, passed, refused string }{
		{"operations", "CONNECT {\"a\": 1}\r\nping\r\nSUB a 1\r\n", "CONNECT {\"a\": 1}\r\nPING \r\nSUB a 1\r\n", ""},
		{"a message", "PUB a 3\r\nx\r\n\r\nHPUB  d\t_INBOX.c 2 4\n1234\r\n", "PUB a 3\r\nx\r\n\r\nHPUB d _INBOX.c 2 4\r\n1234\r\n", ""},
		{"a reply subject", "PUB a ferry.b 1\r\nx\r\n", "", "reply subject"},
		{"one of a message with headers", "HPUB a $JS.API.b 1 1\r\nx\r\n", "", "reply subject"},
		{"headers", hpub("Ferry-Ext: " + key), hpub("Ferry-Ext: " + key), ""},
		{"a forged entry", hpub("A: b\r\nferry-ext:" + forged), "", "which only nodes write"},
		{"no extension", hpub("Ferry-Ext: ?"), "", "Ferry-Ext"},
		{"headers that are longer than the message", "HPUB a 9 8\r\n", "", "headers"},
		{"long headers", "HPUB a 70000 70001\r\n", "", "headers"},
		{"a carriage return", "PUB a _INBOX.x\rferry.b 1\r\nx\r\n", "", "arguments"},
		{"one in a subscription", "SUB a\rb 1\r\n", "", "carriage return"},
		{"a long payload", "PUB a 1\r\nxPUB a b 1\r\n", "", "longer"},
		{"a negative size", "PUB a -1\r\n", "", "size"},
		{"a large size", "PUB a 99999999999\r\n", "", "size"},
		{"a message of servers", "RMSG a b 1\r\nx\r\n", "", "unknown operation"},
		{"a long line", "SUB " + strings.Repeat("x", maxLine), "", "more than"},
		{"half a line", "PUB a", "", ""},
	} {
		var out bytes.Buffer
		err := admit(&out, iotest.OneByteReader(strings.NewReader(row.sent)))
		if row.refused == "" && err != nil || row.refused != "" && (err == nil || !strings.Contains(err.Error(), row.refused)) {
			t.Errorf("%s: %v, want %q", row.name, err, row.refused)
		}
		if row.refused == "" && out.String() != row.passed {
			t.Errorf("%s: passed on %q, want %q", row.name, out.String(), row.passed)
		}
	}
}
