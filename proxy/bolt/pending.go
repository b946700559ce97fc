package bolt

// pendingRequests has the requests that were sent on one connection and have no response yet, by the id they were sent with. Ids
// count up, and the low bits of an id are its slot. An id whose slot is still taken by an older request is skipped, so there are no
// collisions. An id returns after 2^32 others at the earliest, so a late response finds no request.
type pendingRequests struct {
	slots []*request // a power of two of them, at most half of them taken
	count int
	last  uint32
}

const minSlots = 32

// nextID returns an id that no request has.
func (p *pendingRequests) nextID() uint32 {
	p.last++
	for len(p.slots) > 0 && p.slots[p.slot(p.last)] != nil {
		p.last++
	}
	return p.last
}

func (p *pendingRequests) slot(id uint32) int { return int(id) & (len(p.slots) - 1) }

// add adds r and returns the id to send it with.
func (p *pendingRequests) add(r *request) uint32 {
	if 2*p.count >= len(p.slots) {
		p.grow()
	}
	r.sentID = p.nextID()
	p.slots[p.slot(r.sentID)] = r
	p.count++
	return r.sentID
}

// grow doubles the slots. Requests in different slots stay in different slots.
func (p *pendingRequests) grow() {
	old := p.slots
	p.slots = make([]*request, max(2*len(old), minSlots))
	for _, r := range old {
		if r != nil {
			p.slots[p.slot(r.sentID)] = r
		}
	}
}

// find returns the request that was sent as id, or nil.
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
