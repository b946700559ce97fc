package exchange

import "example.com/ferry/proxy/traffic"

// headSize is the size of a request's head as servers of HTTP/2 bound it. It is computed when an Upstream asks for it.
type headSize struct {
	head    RequestHead // of the request, while Forward looks for a connection
	size    int         // 0 until it is computed
	refused bool        // Connector.Open has refused the head
}

// smallHead is a number of received bytes below which a head is small, whatever its fields are: 32 are added for each of them.
const smallHead = 512

// HeadSize returns the size of the request's head, RFC 9113, section 6.5.2; 0 if it is small. It is computed in the first attempt, or not at all.
func (r *Relay) HeadSize(f *RequestFields) int {
	if r.size.size == 0 && r.size.head != nil && r.In >= smallHead {
		r.size.size = f.Size(r.size.head, &r.Changes)
	}
	return r.size.size
}

// RefuseHead is called by a Connector that returns no Upstream because the server would not accept a head of that size.
func (r *Relay) RefuseHead() { r.size.refused = true }

// rejectHead responds to a request whose head no server accepts.
func (r *Relay) rejectHead() {
	r.Refuse(traffic.BadRequest)
	r.reject(HeadTooLarge)
}

// HeadTooLarge is called by an Upstream that waits, when it turns out that the server would not accept the head. The Upstream must not use the Relay
// afterwards.
func (r *Relay) HeadTooLarge() {
	r.up, r.attempt = nil, noAttempt
	r.rejectHead()
}
