package relay

import (
	"cmp"
	"context"
	"math"
	"strings"
	"sync"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/held"
)

// Gate is a call.Service of ordinary clients, which passes their calls on. Each identity on each connection of a client has a connection of its own to
// where the calls go, so a client that uses up its limits delays no other one. All methods may overlap.
type Gate struct {
	// Dial connects a client. token is what the client has sent as "authorization: Bearer TOKEN", or empty; it is not passed on.
	Dial func(ctx context.Context, token string, peer *call.Peer) (call.Conn, error)

	// MaxHeld is as for Upstream, for all clients together. Each connection of a client may hold as much as all of them leave free.
	MaxHeld int

	mu       sync.Mutex
	held     *held.Server
	sessions map[<-chan struct{}]map[string]*session // by the end of the client's connection and by token
}

// session is one identity on one connection of a client.
type session struct {
	Upstream
	calls int // in progress; the lock of the Gate guards it
}

var (
	_ call.Service  = (*Gate)(nil)
	_ call.Admitter = (*Gate)(nil)
)

// Method returns nil: where the calls go, the methods are known.
func (g *Gate) Method(string) call.Method { return nil }

// Serve passes on a call, whose method may be nil.
func (g *Gate) Serve(ctx context.Context, _ call.Method, s call.ServerStream) {
	head := s.Head()
	token, others, err := splitToken(head.Metadata)
	if err != nil {
		s.Finish(nil, call.StatusOf(err), nil)
		return
	}
	next := call.Head{Method: head.Method, Content: head.Content, Deadline: head.Deadline, Metadata: others}
	peer := *s.Peer()
	u := g.begin(token, peer)
	u.Serve(ctx, s, &next)
	g.end(u, token, peer.Ended)
}

// Admit connects the client. The call uses that connection, if the protocol tells when the one of the client ends.
func (g *Gate) Admit(ctx context.Context, head *call.Head, peer *call.Peer) error {
	token, _, err := splitToken(head.Metadata)
	if err != nil {
		return err
	}
	u := g.begin(token, *peer)
	_, err = u.connect(ctx)
	g.end(u, token, peer.Ended)
	return err
}

// splitToken returns the token of a client, or "" if it has none, and its other metadata.
func splitToken(m call.Metadata) (token string, others call.Metadata, err error) {
	for _, f := range m {
		if f.Name != "authorization" {
			others = append(others, f)
			continue
		}
		scheme, rest, ok := strings.Cut(f.Value, " ")
		if token != "" || !ok || !strings.EqualFold(scheme, "Bearer") {
			return "", nil, call.Errorf(call.Unauthenticated, "the metadata authorization needs the form: Bearer TOKEN")
		}
		token = strings.TrimSpace(rest)
	}
	return token, others, nil
}

// begin returns the session of a call.
func (g *Gate) begin(token string, peer call.Peer) *session {
	g.mu.Lock()
	defer g.mu.Unlock()
	u := g.sessions[peer.Ended][token]
	if u == nil {
		if g.held == nil {
			g.held = held.NewServer(cmp.Or(g.MaxHeld, defaultMaxHeld))
		}
		account := held.NewShared(g.held, math.MaxInt)
		u = &session{Upstream: Upstream{Name: "the node", held: &account, Dial: func(ctx context.Context) (call.Conn, error) { return g.Dial(ctx, token, &peer) }}}
		if peer.Ended != nil {
			g.add(u, token, peer.Ended)
		}
	}
	u.calls++
	return u
}

// add keeps a session until the connection of the client has ended. It needs the lock.
func (g *Gate) add(u *session, token string, ended <-chan struct{}) {
	if g.sessions == nil {
		g.sessions = map[<-chan struct{}]map[string]*session{}
	}
	if g.sessions[ended] == nil {
		g.sessions[ended] = map[string]*session{}
		go func() {
			<-ended
			g.mu.Lock()
			all := g.sessions[ended]
			delete(g.sessions, ended)
			g.mu.Unlock()
			for _, u := range all {
				u.abandon()
			}
		}()
	}
	g.sessions[ended][token] = u
}

// end ends a call. A session without a connection is not kept: a client may try any number of tokens.
func (g *Gate) end(u *session, token string, ended <-chan struct{}) {
	g.mu.Lock()
	u.calls--
	kept := ended != nil && (u.calls > 0 || u.connected())
	if !kept {
		delete(g.sessions[ended], token)
	}
	g.mu.Unlock()
	if !kept {
		u.abandon()
	}
}
