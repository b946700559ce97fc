package mqtt

import (
	"slices"
	"sync"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/internal/bufpool"
	wire "example.com/ferry/protocol/mqtt"
)

// session is what the server keeps of a client: MQTT 5.0, section 4.1. It has an owner at most of the time: the connection that serves
// it. Only the loop of the owner calls the broker for it; for a session without one, Server does.
//
// Locks: Server.mu, then locks of the broker, then mu. The broker calls methods of LocalHandler with locks held, so nothing is called
// with mu held that belongs to the broker, and nothing that belongs to Server.
// There may be very many sessions of clients that do nothing: what few of them have at a time is below exchange.
type session struct {
	server *Server
	key    string // sessionKey
	number uint64 // random: names durables, and is the publisher of messages that their publisher must not receive

	// Guarded by Server.mu.
	owner     *conn // nil while the client is not connected
	*handover       // nil while the owner is the only connection of the client

	local *local // that subscribes; nil while nothing needs it. Of the owner

	mu        sync.Mutex
	conn      *conn         // as owner; nil before CONNACK
	lifetime  time.Duration // how long the session outlives its connection; the owner changes it
	subs      *sub          // the newest; the others follow by next
	*exchange               // nil until there is something in it
	out       *bufpool.Buf  // encoded packets that the loop has not taken; nil if there are none
	peer      peerLimits
	separator uint32 // offset in key of the byte behind the identity
	noLocal   int32  // subscriptions with No Local
	paused    bool   // the broker waits for Resume
	repeating bool   // flights with a packet have to be sent on this connection
	woken     bool   // the loop is about to look at the session
	credit    bool   // a tag has credit again
}

// handover is what a session has from one connection to the next. A session with an owner has one only if next is set. Guarded by Server.mu.
type handover struct {
	next    *conn // takes the session over when owner has left; nil while owner is
	will    *will // is published at will.due, while owner is nil
	expires int64 // when the session ends, while owner is nil; as clock.Now
}

// exchange is what a session has of messages with QoS 1 and 2, of retained messages on their way, and of its connection's topic aliases.
type exchange struct {
	flights  flights
	received map[uint16]receivedState // packet identifiers of QoS 2 that the client has not released
	pending  pending                  // messages of the client that wait to be stored
	retained []*retainedWalk          // new subscriptions that get retained messages
	settled  []delivered              // messages of durables that are done, which the loop acks
	aliases  []string                 // topics by alias - 1, in messages for the client
	failure  error                    // ends the connection
	attached time.Duration            // when CONNACK was sent, as Loop.Now, if there was something in it then
}

// unused reports whether nothing is in the exchange, nor was, but walks that have ended.
func (x *exchange) unused() bool {
	return x.retained == nil && x.flights.ring == nil && x.flights.first == 0 && x.received == nil && x.pending.list == nil && x.settled == nil &&
		x.aliases == nil && x.failure == nil
}

// newSession returns a session without a connection. key is the sessionKey of an identity and a client identifier.
func newSession(v *Server, key, identity string, number uint64) *session {
	return &session{server: v, key: key, separator: uint32(len(identity)), number: number}
}

func (s *session) identity() string { return s.key[:s.separator] }
func (s *session) clientID() string { return s.key[s.separator+1:] }

// needExchange makes the exchange. The caller holds the lock.
func (s *session) needExchange() {
	if s.exchange == nil {
		s.exchange = &exchange{}
	}
}

// peerLimits is what CONNECT says about the client as receiver.
type peerLimits struct {
	maxPacket  uint32 // 0 means no bound
	receiveMax uint16
	aliasMax   uint16
	version    wire.Version
}

// delivered is a message of a durable.
type delivered struct {
	sub      *sub
	sequence uint64
	rejected string // why the client has refused it; "" means that it has it
}

// sub is a subscription.
type sub struct {
	filter string // as the client has written it
	tags   string // without $share/GROUP/
	group  string // of a shared subscription
	where  string // predicate; "" means none

	// Guarded by session.mu.
	next              *sub  // of the session
	at                **sub // what names it there: the session, or next of a newer one; nil if it is not in the list
	qos               byte
	noLocal           bool
	retainAsPublished bool
	ready             bool          // SUBACK is written: messages may follow
	id                uint32        // Subscription Identifier; 0 means none
	stored            bool          // a stream stores all tags at least once; of the owner
	opened            bool          // the broker says that it begins
	removed           bool          // it has ended
	failure           error         // why it does not
	walk              *retainedWalk // sends retained messages; nil if there is none

	// Of the owner.
	durable Cursor // the zero value means none
	local   *broker.LocalSub
}

// keeps reports whether messages that arrive while the client is away must reach it.
func (s *sub) keeps() bool { return s.qos > 0 && s.group == "" }

// find returns the subscription with a filter, or nil. The caller holds the lock, or is the owner.
func (s *session) find(filter string) *sub {
	for x := s.subs; x != nil; x = x.next {
		if x.filter == filter {
			return x
		}
	}
	return nil
}

// addSub adds x to the list. The caller holds the lock.
func (s *session) addSub(x *sub) {
	x.next, x.at = s.subs, &s.subs
	if x.next != nil {
		x.next.at = &x.next
	}
	s.subs = x
}

// removeSub removes x from the list. The caller holds the lock.
func (s *session) removeSub(x *sub) {
	*x.at = x.next
	if x.next != nil {
		x.next.at = x.at
	}
	x.next, x.at = nil, nil // a flight may refer to x for long
	x.removed = true
	if x.noLocal {
		s.noLocal--
	}
	if x.walk != nil && s.exchange != nil {
		s.retained = slices.DeleteFunc(s.retained, func(w *retainedWalk) bool { return w == x.walk })
	}
	x.walk = nil
}

// room returns the outgoing buffer with room for n bytes. The caller holds the lock.
func (s *session) room(n int) *bufpool.Buf {
	s.out = bufpool.Grow(s.out, n)
	return s.out
}

// wake makes the loop of the owner look at the session. The caller does not hold the lock.
func (s *session) wake() {
	s.mu.Lock()
	c := s.conn
	wake := c != nil && !s.woken
	s.woken = s.woken || wake
	s.mu.Unlock()
	if wake {
		c.ls.Wake(c)
	}
}

// receivedState says how far a message with QoS 2 of the client is.
type receivedState uint8

const (
	receivedPending  receivedState = iota // it waits to be stored
	receivedStored                        // PUBREC was sent, or is in session.pending
	receivedRepeated                      // it waits to be stored, and the client has sent it again on another connection
)

// release ends what the session holds. Its client has left for good.
func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exchange != nil {
		s.flights.drop(func(*flight) bool { return true })
		s.retained, s.settled, s.received = nil, nil, nil
	}
	if s.out != nil {
		s.out.Release()
		s.out = nil
	}
}
