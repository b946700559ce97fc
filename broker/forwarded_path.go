package broker

import (
	"fmt"

	"example.com/ferry/protocol/native"
)

// arrivalPath is the path of messages that another node forwards.
type arrivalPath struct {
	nodes  native.Path
	dropAs int // reason to drop the messages; dropReasons means none
}

// route returns the nodes of the path; nil for the messages of a client.
func (p *arrivalPath) route() *native.Path {
	if p == nil {
		return nil
	}
	return &p.nodes
}

// announcePath handles FORWARD. The last node of all paths of a connection is the client.
func (r *receiver) announcePath(f native.Frame) error {
	v, err := native.ParseForward(f)
	if err != nil {
		return err
	}
	s := r.session
	if identity := s.identity.Load(); !identity.Forward || s.cfg.Node == "" {
		return forbidden(identity, "forward messages of node", v.Path[0])
	}
	last := v.Path[len(v.Path)-1]
	s.mu.Lock()
	if s.node == "" {
		s.node = last
	}
	known := s.node
	s.mu.Unlock()
	if last != known {
		return &native.Error{Code: native.CodeForbidden, Reason: fmt.Sprintf("a path that ends with node %q on a connection of node %q", last, known)}
	}
	path := &arrivalPath{nodes: v.Path, dropAs: dropReasons}
	switch {
	case v.Path.Contains(s.cfg.Node):
		path.dropAs = dropLoop
	case len(v.Path) >= native.MaxHops:
		path.dropAs = dropHops
	}
	for len(r.paths) <= int(v.Number) {
		r.paths = append(r.paths, nil)
	}
	r.paths[v.Number] = path
	return nil
}

// pathOf returns the path of a PUB; nil if its publisher is the client. It returns an error if the client may not send the PUB.
func (r *receiver) pathOf(f native.Frame) (*arrivalPath, error) {
	if f.Flags()&native.FlagForwarded == 0 || r.session.peer.Version() < native.ForwardVersion {
		if f.Source() != r.session.id {
			return nil, &native.Error{Code: native.CodeForbidden, Reason: fmt.Sprintf("PUB in the name of source %d by source %d", f.Source(), r.session.id)}
		}
		return nil, nil
	}
	if identity := r.session.identity.Load(); !identity.Forward { // the grant was taken away
		return nil, forbidden(identity, "forward messages on", r.last.tag.Name)
	}
	if number := int(f.Source()); f.Source() < native.MaxPaths && number < len(r.paths) && r.paths[number] != nil {
		return r.paths[number], nil
	}
	return nil, &native.Error{Code: native.CodeForbidden, Reason: fmt.Sprintf("PUB with path number %d, which this stream did not announce", f.Source())}
}

// samePath reports whether f has come by the path of the run, or, without one, from the client.
func (r *receiver) samePath(f native.Frame, path *arrivalPath, source uint32) bool {
	forwarded := f.Flags()&native.FlagForwarded != 0 && r.session.peer.Version() >= native.ForwardVersion
	return forwarded == (path != nil) && uint32(f.Source()) == source
}

// dropPath drops a frame that its path must not bring here. This is part of normal operation, so its publisher gets no notice.
func (r *receiver) dropPath(p *publisher, f native.Frame, reason int) error {
	if err := p.spend(len(f), len(f)); err != nil {
		return err
	}
	p.tag.in.Add(1, len(f))
	r.session.listener.broker.dropped[reason].Add(1)
	p.skip(len(f), native.NoticeFrame{}, r.confirmations)
	return nil
}

// giveBackTag handles UNTAG: the client's grant for a tag ends.
func (r *receiver) giveBackTag(f native.Frame) error {
	number, err := native.ParseNumber(f)
	if err != nil {
		return err
	}
	s, b := r.session, r.session.listener.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	s.mu.Lock()
	p := s.published[number]
	s.mu.Unlock()
	if p == nil {
		return nil
	}
	if !p.carriedBy(r) {
		return otherStream(number) // the end of the connection gives the tag back
	}
	s.mu.Lock()
	delete(s.published, number)
	s.mu.Unlock()
	if r.last == p {
		r.last = nil
	}
	s.notices.send(s, r.elapsed) // they have the number
	p.leave()
	b.tags.release(p.tag)
	return nil
}

// carriedBy reports whether the messages of p come on the stream of r. The first stream that it is asked for is the one.
func (p *publisher) carriedBy(r *receiver) bool {
	return p.carrier.CompareAndSwap(nil, r) || p.carrier.Load() == r
}

// otherStream is the error of a frame for a tag that another stream carries.
func otherStream(tag uint32) error {
	return &native.Error{Code: native.CodeProtocol, Reason: fmt.Sprintf("tag number %d on two streams", tag)}
}
