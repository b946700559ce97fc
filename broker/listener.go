package broker

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
)

// Listener is one listener of a Broker. Its methods may overlap, but Serve is called once.
type Listener struct {
	broker   *Broker
	inner    transport.Listener
	validate atomic.Uint32 // a Validation
	closed   bool          // Drain was called; guarded by the broker's lock

	certified func(*tls.ConnectionState) bool // given to CloseCertified; nil before; guarded by the broker's lock
	anonymous *string                         // given to SetAnonymous; nil before; guarded by the broker's lock
	refusals  logGate                         // of Connect
}

// listenerGone is the reason in GOAWAY of clients whose listener was removed.
const listenerGone = "the node no longer listens at this address"

// NewListener returns a Listener for l. v says how thoroughly the clients' payloads are validated. The caller calls Serve.
func (b *Broker) NewListener(l transport.Listener, v Validation) *Listener {
	made := &Listener{broker: b, inner: l}
	made.SetValidation(v)
	return made
}

// Serve is NewListener and Listener.Serve, for a listener that is served as long as the Broker.
func (b *Broker) Serve(ctx context.Context, l transport.Listener, v Validation) error {
	return b.NewListener(l, v).Serve(ctx)
}

// SetValidation changes how thoroughly payloads are validated, also those of clients that are connected.
func (l *Listener) SetValidation(v Validation) { l.validate.Store(uint32(v)) }

func (l *Listener) validation() Validation { return Validation(l.validate.Load()) }

// CloseCertified closes the connections of clients that a certificate has identified. The caller calls it after the CAs
// that the listener trusts have changed: a client with a certificate of the new ones connects again. A TLS handshake may have
// begun with the CAs before and end later. So from now on, a client that a certificate identifies is refused unless
// valid(its connection). valid is called with a lock held.
func (l *Listener) CloseCertified(valid func(*tls.ConnectionState) bool) {
	l.broker.mu.Lock()
	l.certified = valid
	l.broker.mu.Unlock()
	for _, s := range l.sessions() {
		if s.identity.Load().proof.commonName != "" {
			s.client.close(&native.Error{Code: native.CodeUnauthenticated, Reason: "the certificate authorities of this listener have changed: connect again"})
		}
	}
}

// SetAnonymous says which identity clients without a credential have from now on; "" means that they are refused. It closes the
// connections of clients that have another one. The owner of a Listener with Locals connects with LocalConfig.Anonymous set to name
// before it calls SetAnonymous.
func (l *Listener) SetAnonymous(name string) {
	l.broker.mu.Lock()
	l.anonymous = &name
	l.broker.mu.Unlock()
	for _, s := range l.sessions() {
		if l.otherAnonymous(s.identity.Load()) {
			s.client.close(&native.Error{Code: native.CodeUnauthenticated, Reason: "the identity of clients without a credential has changed: connect again"})
		}
	}
}

// otherAnonymous reports whether a client has an anonymous identity that SetAnonymous has taken away. The caller of a session that is
// not admitted holds the broker's lock.
func (l *Listener) otherAnonymous(id *Identity) bool {
	return id.proof.anonymous && l.anonymous != nil && *l.anonymous != id.Name
}

// sessions returns the listener's sessions.
func (l *Listener) sessions() []*session {
	var own []*session
	for _, s := range l.broker.allSessions() {
		if s.listener == l {
			own = append(own, s)
		}
	}
	return own
}

// Drain closes the listener and asks its clients to leave. It returns when they have: a client that publishes sends what it
// has and says so, and other clients are disconnected when their queues are empty. If ctx ends first, Drain closes the
// connections that are left and returns the error of ctx.
func (l *Listener) Drain(ctx context.Context) error {
	b := l.broker
	b.mu.Lock()
	l.closed = true
	b.mu.Unlock()
	_ = l.inner.Close()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		left := l.sessions()
		if len(left) == 0 {
			return nil
		}
		for _, s := range left {
			s.drain(listenerGone)
			if !s.publishes() && !s.busy() {
				s.client.close(nil)
			}
		}
		select {
		case <-ctx.Done():
			for _, s := range left {
				s.client.close(&native.Error{Code: native.CodeDraining, Reason: listenerGone})
			}
			return fmt.Errorf("broker: %d clients of %v did not leave in time: %w", len(left), l.inner.Addr(), ctx.Err())
		case <-tick.C:
		}
	}
}
