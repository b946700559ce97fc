package interop

import (
	"context"
	"crypto/tls"
	"net/http"
	"sync"
	"testing"
	"time"
)

// newHonestTLS is newHonest for clients of TLS that trust ferry's own certificate without verifying it.
func newHonestTLS(t *testing.T, address string) *honest {
	h := newHonest(t, "https://"+address)
	for _, c := range []*http.Client{h.kept, h.once} {
		tr := c.Transport.(*http.Transport)
		tr.TLSClientConfig, tr.ForceAttemptHTTP2 = &tls.Config{InsecureSkipVerify: true}, true
	}
	return h
}

// TestAttackHandshakes: clients send a part of a ClientHello, at once or byte by byte. They cost no goroutine, and honest clients
// complete their handshakes.
func TestAttackHandshakes(t *testing.T) {
	needFiles(t)
	f, secure := runAll(t)
	honest := newHonestTLS(t, secure)
	honest.ask(40)
	before := f.usage()
	const hello = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
	a := &attackers{address: secure}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { a.hold(ctx, attackClients, 5, hello, "", 0) })
	all.Go(func() { a.hold(ctx, attackClients, 5, hello, "a", 20*time.Millisecond) })
	during := before
	for begun := time.Now(); time.Since(begun) < floodTime || during.files < before.files+attackClients && time.Since(begun) < 20*time.Second; {
		honest.ask(20)
		during = f.usage()
	}
	cancel()
	all.Wait()
	honest.ask(20)
	t.Logf("during the attack: %v", during)
	if during.goroutines > before.goroutines+20 {
		t.Errorf("%d goroutines during the attack, %d before", during.goroutines, before.goroutines)
	}
	f.settles(before, 4<<20)
}
