// Package ranks is the order in which the locks of the broker are taken: a goroutine that holds one takes only those of a higher rank. In
// builds for amd64 with the race detector a Mutex panics if that is not so, whether or not two goroutines meet.
package ranks

// The length of each rank is its place in the order.
type (
	// Router is that of calls.Router: services, and the calls between their clients.
	Router [1]struct{}
	// Broker is that of broker.Broker: sessions, tags, routes.
	Broker [2]struct{}
	// Session is that of session: its subscriptions and grants.
	Session [3]struct{}
	// Order is that of stored.Grant: what enters its account and its stream, in one order.
	Order [4]struct{}
	// Subs is that of stored.Subs: what a client reads from streams.
	Subs [5]struct{}
	// Stream is that of stored.Stream: its durables and replays.
	Stream [6]struct{}
	// Durable is that of durable: its members and its window.
	Durable [7]struct{}
	// Local is that of localOutlet, as the FrameWriter of a connection: queues, and the turns of their stream.
	Local [8]struct{}
	// Lane is that of lane: runs that the engine has.
	Lane [9]struct{}
	// Hold is that of ledger.Hold: accounts whose credit is withheld.
	Hold [10]struct{}
	// Account is that of ledger.Account: credit and runs of one grant.
	Account [11]struct{}
	// Confirmations is that of ledger.Confirmations: PINGs whose response waits.
	Confirmations [12]struct{}
	// Grant is that of publisher: what its client is told with the number of its tag.
	Grant [13]struct{}
	// Notices is that of notices: what a client is told of messages that are dropped.
	Notices [14]struct{}
)
