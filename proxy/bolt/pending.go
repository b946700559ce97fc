package bolt

// pending is the requests that were sent over one connection and wait for their answers, by the id they were sent with. Ids
// count up and a request lies where the lower bits of its id say. Where one that takes long still lies, its neighbours pass
// it over; so no id comes again before 2^32 others, and an answer that comes too late finds nobody.
type pending struct {
	slots []*request // a power of two, at most half of them taken
	count int
	last  uint32
}

const leastPending = 32

// id returns one that no request has.
func (p *pending) id() uint32 {
	p.last++
	for len(p.slots) > 0 && p.slots[p.place(p.last)] != nil {
		p.last++
	}
	return p.last
}

func (p *pending) place(id uint32) int { return int(id) & (len(p.slots) - 1) }

// add gives r the id it is to be sent with.
func (p *pending) add(r *request) uint32 {
	if 2*p.count >= len(p.slots) {
		p.grow()
	}
	r.sentAs = p.id()
	p.slots[p.place(r.sentAs)] = r
	p.count++
	return r.sentAs
}

// grow doubles the slots. What lay apart lies apart then.
func (p *pending) grow() {
	old := p.slots
	p.slots = make([]*request, max(2*len(old), leastPending))
	for _, r := range old {
		if r != nil {
			p.slots[p.place(r.sentAs)] = r
		}
	}
}

// find returns the request that was sent as id, or nil.
func (p *pending) find(id uint32) *request {
	if p.count == 0 {
		return nil
	}
	if r := p.slots[p.place(id)]; r != nil && r.sentAs == id {
		return r
	}
	return nil
}

// remove takes r out.
func (p *pending) remove(r *request) {
	p.slots[p.place(r.sentAs)] = nil
	p.count--
}
