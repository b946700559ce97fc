package broker

import (
	"container/list"
	"fmt"
	"slices"
	"sync"

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

// callRouter passes calls from callers to clients that offer their services. It reads the headers of frames and never a message.
//
// Locks: the router's lock is taken before those of sessions and streams.
type callRouter struct {
	streamWindow int // Config.CallStreamWindow

	mu       sync.Mutex
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
	end     *callEnd
}

// callEnd has the calls of one connection, those that the client makes and those that it serves. The router's lock guards the
// fields after limits.
type callEnd struct {
	session *session
	limits  native.CallLimits // of the calls that the node makes to the client

	closed bool
	calls  bool              // the client makes calls
	made   map[uint32]*relay // calls of the client, by its number, until REPLY is sent
	taken  int               // bytes of the node's window that they use
	most   *relay            // one of them that may use the most; nil if that is not known
	held   int               // bytes that are held because they wait for an instance
	served map[uint32]*relay // calls to the client, by the node's number, until REPLY arrives
	nextID uint32
	credit int // bytes of the client's window that are left
	offers map[uint32]*offer
}

func newCallRouter(cfg *Config) *callRouter {
	return &callRouter{streamWindow: cfg.CallStreamWindow, services: map[string]*service{}}
}

// callLimits are those of the calls that a client makes.
func (c *Config) callLimits() native.CallLimits {
	return native.CallLimits{Calls: uint32(c.MaxCalls), Window: uint32(c.CallWindow), StreamWindow: uint32(c.CallStreamWindow)}
}

// init is called in the handshake.
func (e *callEnd) init(s *session, limits native.CallLimits) {
	limits.Calls, limits.Window, limits.StreamWindow = min(limits.Calls, maxCredit), min(limits.Window, maxCredit), min(limits.StreamWindow, maxCredit)
	e.session, e.limits, e.credit = s, limits, int(limits.Window)
	e.made, e.served, e.offers = map[uint32]*relay{}, map[uint32]*relay{}, map[uint32]*offer{}
}

// stream returns the stream that carries a call to the client.
func (e *callEnd) stream(id uint32) *subscriberStream {
	e.session.mu.Lock()
	defer e.session.mu.Unlock()
	return e.session.streamFor(id / 2)
}

// number returns a number for a call to the client.
func (e *callEnd) number() (id uint32) {
	for id == 0 || e.served[id] != nil {
		e.nextID += 2
		id = e.nextID
	}
	return id
}

// free reports whether the client can serve one more call.
func (e *callEnd) free(single bool) bool {
	return len(e.served) < int(e.limits.Calls) && (e.credit > 0 || !single)
}

// leaving reports whether the node has asked the client to leave, or its connection ends.
func (e *callEnd) leaving() bool { return e.closed || e.session.peer.State() >= peer.Draining }

// addOffer makes a client an instance of a service.
func (rt *callRouter) addOffer(e *callEnd, v native.OfferFrame, u *peer.Unflushed) error {
	identity := e.session.identity.Load()
	switch {
	case topic.CheckService(v.Service) != nil:
		return &native.Error{Code: native.CodeBadRequest, Reason: topic.CheckService(v.Service).Error()}
	case !topic.MatchService(identity.Serve, v.Service):
		return forbidden(identity, "serve", v.Service)
	case e.limits.Calls == 0 || e.limits.Window == 0 || int(e.limits.StreamWindow) < rt.streamWindow:
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
	case len(e.offers) >= e.session.cfg.MaxSubs:
		return &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("more than %d offers on one connection", e.session.cfg.MaxSubs)}
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
func (rt *callRouter) replaceService() bool {
	for name, s := range rt.services {
		if len(s.instances) == 0 && s.stats.Active == 0 {
			rt.lost.Add(&s.stats)
			delete(rt.services, name)
			return true
		}
	}
	return false
}

// withdraw ends an offer. The client completes the calls that it has.
func (rt *callRouter) withdraw(e *callEnd, id uint32, u *peer.Unflushed) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if o := e.offers[id]; o != nil {
		rt.removeOffer(o, u)
	}
}

func (rt *callRouter) removeOffer(o *offer, u *peer.Unflushed) {
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

// revoke ends the offers that the client's identity no longer allows. Calls that it serves continue.
func (rt *callRouter) revoke(e *callEnd, identity *Identity) {
	var ended []*offer
	rt.mu.Lock()
	for _, o := range e.offers {
		if !topic.MatchService(identity.Serve, o.service.name) {
			ended = append(ended, o)
			rt.removeOffer(o, nil)
		}
	}
	rt.mu.Unlock()
	for _, o := range ended {
		e.session.respond(native.ResultFrame{Kind: native.Offer, Ref: o.id}, forbidden(identity, "serve", o.service.name))
	}
}

// pick returns the instance of s that serves the fewest calls, or nil if all are busy. Instances take turns when equal.
func (s *service) pick(single bool) (best *callEnd) {
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
func (rt *callRouter) serveWaiting(s *service, u *peer.Unflushed) {
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

// remove ends the offers and the calls of a connection that begins to close.
func (rt *callRouter) remove(e *callEnd) {
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

// busy reports whether calls of the client are in progress, or the client makes calls and has not left yet.
func (rt *callRouter) busy(e *callEnd) bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return len(e.made)+len(e.served) > 0 || e.calls && !e.closed && e.session.peer.State() == peer.Draining
}

// serves reports whether the client offers a service.
func (rt *callRouter) serves(e *callEnd) bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return len(e.offers) > 0
}
