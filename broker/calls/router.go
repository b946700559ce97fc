package calls

import (
	"container/list"
	"fmt"
	"slices"

	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/broker/internal/ranks"
	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// Codes of gRPC that the node itself gives to calls.
const (
	codeCanceled           = 1
	codeUnknown            = 2
	codeDeadlineExceeded   = 4
	codePermissionDenied   = 7
	codeResourceExhausted  = 8
	codeFailedPrecondition = 9
	codeUnimplemented      = 12
	codeUnavailable        = 14
	callCodes              = 17
)

// maxServices bounds the services that the node knows. An offer of a further one replaces a service that no client offers.
const maxServices = 4096

// Router passes calls from callers to clients that offer their services. All methods may overlap.
type Router struct {
	streamWindow int
	mayBeServed  func(service string) bool

	mu       ranks.Mutex[ranks.Router]
	services map[string]*service
	lost     ServiceStats // of services that were replaced, and of calls to services that no client has offered; Name is empty
}

// service is the state of one service name: the clients that offer it, and the calls that wait until one of them is free.
type service struct {
	name      string
	instances []*offer
	turn      int       // index at which the next search for an instance begins
	waiting   list.List // *relay
	stats     ServiceStats
}

// offer is one OFFER of a client.
type offer struct {
	id      uint32
	service *service
	end     *End
}

// Config bounds the calls of one connection.
type Config struct {
	Calls  int // most calls that the client makes, in progress
	Window int // bytes of single requests of the client in progress
	Queue  int // bytes of calls that wait for the connection, or, of its own calls, for an instance that is free
	Offers int // most services that the client offers
}

// Client is what a Router asks of a connection. MayCall and MayServe return why the client may not; nil means that it may.
type Client interface {
	MayCall(service string) *native.Error
	MayServe(service string) *native.Error
	Stream(number int) *outlet.Stream       // one of as many as the connection has
	Result(r native.ResultFrame, err error) // sends the result of an OFFER
}

// End has the calls of one connection, those that the client makes and those that it serves. The router's lock guards the
// fields after limits.
type End struct {
	router *Router
	client Client
	conn   *peer.Conn
	cfg    Config
	limits native.CallLimits // of the calls that the node makes to the client

	closed   bool
	calls    bool              // the client makes calls
	carriers []*carrier        // by stream; nil until used
	made     map[uint32]*relay // calls of the client, by its number, until REPLY is sent
	taken    int               // bytes of the node's window that they use
	most     *relay            // one of them that may use the most; nil if that is not known
	held     int               // bytes that are held because they wait for an instance
	served   map[uint32]*relay // calls to the client, by the node's number, until REPLY arrives
	nextID   uint32
	credit   int // bytes of the client's window that are left
	offers   map[uint32]*offer
}

// New returns a Router. Clients must grant streamWindow bytes for each stream of messages in calls. mayBeServed reports whether an
// identity is granted to serve a service by name; it is called with a lock held.
func New(streamWindow int, mayBeServed func(service string) bool) *Router {
	return &Router{streamWindow: streamWindow, mayBeServed: mayBeServed, services: map[string]*service{}}
}

// NewEnd returns the End of a connection. limits are those of the calls that the node makes to the client. The caller calls Remove when
// the connection begins to close.
func (rt *Router) NewEnd(client Client, conn *peer.Conn, cfg Config, limits native.CallLimits) *End {
	limits.Calls, limits.Window, limits.StreamWindow = min(limits.Calls, outlet.MaxCredit), min(limits.Window, outlet.MaxCredit), min(limits.StreamWindow, outlet.MaxCredit)
	return &End{
		router: rt, client: client, conn: conn, cfg: cfg, limits: limits, credit: int(limits.Window), carriers: make([]*carrier, max(conn.Streams(), 1)),
		made: map[uint32]*relay{}, served: map[uint32]*relay{}, offers: map[uint32]*offer{},
	}
}

// carrier returns the stream that carries a call to the client.
func (e *End) carrier(id uint32) *carrier {
	i := int(id/2) % len(e.carriers)
	if e.carriers[i] == nil {
		e.carriers[i] = e.client.Stream(i).Calls.(*carrier) //nolint:forcetypeassert // Carry has set it
	}
	return e.carriers[i]
}

// number returns a number for a call to the client.
func (e *End) number() (id uint32) {
	for id == 0 || e.served[id] != nil {
		e.nextID += 2
		id = e.nextID
	}
	return id
}

// free reports whether the client can serve one more call.
func (e *End) free(single bool) bool {
	return len(e.served) < int(e.limits.Calls) && (e.credit > 0 || !single)
}

// leaving reports whether the node has asked the client to leave, or its connection ends.
func (e *End) leaving() bool { return e.closed || e.conn.State() >= peer.Draining }

// addOffer makes a client an instance of a service.
func (rt *Router) addOffer(e *End, v native.OfferFrame, u *peer.Unflushed) error {
	if err := topic.CheckService(v.Service); err != nil {
		return &native.Error{Code: native.CodeBadRequest, Reason: err.Error()}
	}
	if err := e.client.MayServe(v.Service); err != nil {
		return err
	}
	if e.limits.Calls == 0 || e.limits.Window == 0 || int(e.limits.StreamWindow) < rt.streamWindow {
		return &native.Error{Code: native.CodeBadRequest, Reason: fmt.Sprintf("a client that serves calls must accept them, with a stream window of at least %d bytes", rt.streamWindow)}
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	s := rt.services[v.Service]
	switch {
	case e.closed:
		return &native.Error{Code: native.CodeDraining, Reason: "the connection is being closed"}
	case e.offers[v.ID] != nil:
		return &native.Error{Code: native.CodeBadRequest, Reason: fmt.Sprintf("offer %d exists already", v.ID)}
	case len(e.offers) >= e.cfg.Offers:
		return &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("more than %d offers on one connection", e.cfg.Offers)}
	case s != nil && slices.ContainsFunc(s.instances, func(o *offer) bool { return o.end == e }):
		return &native.Error{Code: native.CodeBadRequest, Reason: fmt.Sprintf("service %q is offered already on this connection", v.Service)}
	case s == nil && len(rt.services) >= maxServices && !rt.replaceService():
		return &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("the node knows %d services already, its limit", maxServices)}
	case s == nil:
		s = &service{name: v.Service, stats: ServiceStats{Name: v.Service}}
		rt.services[v.Service] = s
	}
	o := &offer{v.ID, s, e}
	e.offers[v.ID] = o
	s.instances = append(s.instances, o)
	rt.serveWaiting(s, u)
	return nil
}

// replaceService forgets a service without instances and calls. It reports whether there is one.
func (rt *Router) replaceService() bool {
	for name, s := range rt.services {
		if len(s.instances) == 0 && s.stats.Active == 0 {
			rt.lost.Add(&s.stats)
			delete(rt.services, name)
			return true
		}
	}
	return false
}

// removeOffer ends an offer. The client completes the calls that it has.
func (rt *Router) removeOffer(o *offer, u *peer.Unflushed) {
	delete(o.end.offers, o.id)
	s := o.service
	s.instances = slices.DeleteFunc(s.instances, func(other *offer) bool { return other == o })
	if len(s.instances) > 0 {
		return
	}
	for s.waiting.Len() > 0 {
		rt.fail(s.next(), codeUnavailable, unserved(s.name), u)
	}
}

func unserved(service string) string {
	return fmt.Sprintf("no client of the node serves %q now", service)
}

// Revoke ends the offers that the client may no longer make. Calls that it serves continue.
func (e *End) Revoke() {
	type revoked struct {
		id  uint32
		why error
	}
	var ended []revoked
	e.router.mu.Lock()
	for _, o := range e.offers {
		if why := e.client.MayServe(o.service.name); why != nil {
			ended = append(ended, revoked{o.id, why})
			e.router.removeOffer(o, nil)
		}
	}
	e.router.mu.Unlock()
	for _, o := range ended {
		e.client.Result(native.ResultFrame{Kind: native.Offer, Ref: o.id}, o.why)
	}
}

// pick returns the instance of s that serves the fewest calls, or nil if all are busy. Instances take turns when equal.
func (s *service) pick(single bool) (best *End) {
	n := len(s.instances)
	for i := range n {
		e := s.instances[(s.turn+i)%n].end
		if (best == nil || len(e.served) < len(best.served)) && e.free(single) && !e.leaving() {
			best = e
		}
	}
	s.turn++
	return best
}

// serveWaiting forwards calls that wait for s, oldest first, as far as instances are free.
func (rt *Router) serveWaiting(s *service, u *peer.Unflushed) {
	for s.waiting.Len() > 0 {
		x := s.next()
		server := s.pick(x.single)
		switch {
		case server == nil:
			return
		case !x.waited():
			rt.fail(x, codeDeadlineExceeded, "the deadline has passed while all instances were busy", u)
		default:
			rt.dispatch(x, server, u)
		}
	}
}

// next returns the call that waits for s longest. There must be one.
func (s *service) next() *relay {
	x, _ := s.waiting.Front().Value.(*relay)
	return x
}

// Remove ends the offers and the calls of a connection that begins to close.
func (e *End) Remove() {
	rt := e.router
	rt.mu.Lock()
	defer rt.mu.Unlock()
	e.closed = true
	for _, o := range e.offers {
		rt.removeOffer(o, nil)
	}
	for _, x := range e.made {
		rt.loseCaller(x)
	}
	for _, x := range e.served {
		rt.loseServer(x)
	}
}

// Busy reports whether calls of the client are in progress, or the client makes calls and has not left yet: a node that stops waits
// until it leaves.
func (e *End) Busy() bool {
	e.router.mu.Lock()
	defer e.router.mu.Unlock()
	return len(e.made)+len(e.served) > 0 || e.calls && !e.closed && e.conn.State() == peer.Draining
}

// Serves reports whether the client offers a service.
func (e *End) Serves() bool {
	e.router.mu.Lock()
	defer e.router.mu.Unlock()
	return len(e.offers) > 0
}
