// Package ranks is the order in which the locks of the broker are taken: a goroutine that holds one takes only those of a higher rank. In
// builds for amd64 with the race detector a Mutex panics if that is not so, whether or not two goroutines meet.
package ranks

// The ranks, each the length of its type.
type (
	Router        [1]struct{}  // calls.Router: services, and the calls between their clients
	Broker        [2]struct{}  // broker.Broker: sessions, tags, routes
	Session       [3]struct{}  // session: its subscriptions and grants
	Order         [4]struct{}  // stored.Grant: what enters its account and its stream, in one order
	Subs          [5]struct{}  // stored.Subs: what a client reads from streams
	Stream        [6]struct{}  // stored.Stream: its durables and replays
	Durable       [7]struct{}  // durable: its members and its window
	Local         [8]struct{}  // localOutlet, as the FrameWriter of a connection: queues, and the turns of their stream
	Lane          [9]struct{}  // lane: runs that the engine has
	Hold          [10]struct{} // ledger.Hold: accounts whose credit is withheld
	Account       [11]struct{} // ledger.Account: credit and runs of one grant
	Confirmations [12]struct{} // ledger.Confirmations: PINGs whose response waits
	Grant         [13]struct{} // publisher: what its client is told with the number of its tag
	Notices       [14]struct{} // notices: what a client is told of messages that are dropped
)
