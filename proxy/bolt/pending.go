package bolt

// pendingRequests holds the requests that were sent on one connection and have no response yet. The key is the id of
// the sent frame. Ids count up, and the low bits of an id are its slot. If an older request still occupies the slot,
// the id is skipped, so there are no collisions. An id is reused after 2^32 other ids at the earliest, so a late
// response finds no request.
type pendingRequests struct {
	slots []*request // the length is a power of two; at most half of the slots are in use
	count int
	last  uint32
}

const minSlots = 32

// nextID returns an id that no pending request has.
func (p *pendingRequests) nextID() uint32 {
	p.last++
	for len(p.slots) > 0 && p.slots[p.slot(p.last)] != nil {
		p.last++
	}
	return p.last
}

func (p *pendingRequests) slot(id uint32) int { return int(id) & (len(p.slots) - 1) }

// add adds r and returns the id for its frame.
func (p *pendingRequests) add(r *request) uint32 {
	if 2*p.count >= len(p.slots) {
		p.grow()
	}
	r.sentID = p.nextID()
	p.slots[p.slot(r.sentID)] = r
	p.count++
	return r.sentID
}

// grow doubles the number of slots. Requests in different slots stay in different slots.
func (p *pendingRequests) grow() {
	old := p.slots
	p.slots = make([]*request, max(2*len(old), minSlots))
	for _, r := range old {
		if r != nil {
			p.slots[p.slot(r.sentID)] = r
		}
	}
}

// find returns the request whose frame was sent with id, or nil.
func (p *pendingRequests) find(id uint32) *request {
	if p.count == 0 {
		return nil
	}
	if r := p.slots[p.slot(id)]; r != nil && r.sentID == id {
		return r
	}
	return nil
}

// remove removes r.
func (p *pendingRequests) remove(r *request) {
	p.slots[p.slot(r.sentID)] = nil
	p.count--
}
