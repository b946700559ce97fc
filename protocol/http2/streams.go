package http2

// streamTable finds streams by their ids, and lists all streams of a connection. Ids of one side follow each other, so the buckets
// stay short.
type streamTable struct {
	buckets []*Stream // its length is a power of two
	count   int       // streams with an id
	all     *Stream   // all streams that are not closed, the newest first; a client's stream without an id, too
}

func (t *streamTable) bucket(id uint32) **Stream { return &t.buckets[id>>1&uint32(len(t.buckets)-1)] }

// get returns the stream with the id, or nil.
func (t *streamTable) get(id uint32) *Stream {
	if t.count == 0 {
		return nil
	}
	s := *t.bucket(id)
	for s != nil && s.id != id {
		s = s.bucketNext
	}
	return s
}

// add lists a stream without an id.
func (t *streamTable) add(s *Stream) {
	if s.allNext = t.all; t.all != nil {
		t.all.allPrev = s
	}
	t.all = s
}

// setID gives the stream an id and lets get find it.
func (t *streamTable) setID(s *Stream, id uint32) {
	if t.count == len(t.buckets) {
		t.grow()
	}
	s.id = id
	b := t.bucket(id)
	s.bucketNext = *b
	*b = s
	t.count++
}

// remove removes the stream.
func (t *streamTable) remove(s *Stream) {
	if s.allPrev != nil {
		s.allPrev.allNext = s.allNext
	} else {
		t.all = s.allNext
	}
	if s.allNext != nil {
		s.allNext.allPrev = s.allPrev
	}
	s.allPrev, s.allNext = nil, nil
	if s.id == 0 {
		return
	}
	at := t.bucket(s.id)
	for *at != s {
		at = &(*at).bucketNext
	}
	*at = s.bucketNext
	s.bucketNext = nil
	t.count--
}

func (t *streamTable) grow() {
	old := t.buckets
	t.buckets = make([]*Stream, max(2*len(old), 8))
	for _, s := range old {
		for s != nil {
			next := s.bucketNext
			b := t.bucket(s.id)
			s.bucketNext = *b
			*b = s
			s = next
		}
	}
}

// resetRing remembers the streams that this side reset last. Frames that the peer sent before it saw the reset are ignored. RFC
// 9113, section 5.1. Many streams may be reset in a round trip, so a stream that the full ring does not have may be one that it has
// forgotten.
type resetRing struct {
	streams []resetStream
	next    int
}

// resetStream is a stream that this side has reset.
type resetStream struct {
	id     uint32
	window int32 // bytes that the peer may still have sent
}

// resetsKept is the number of streams that a resetRing remembers. A peer may still be sending on each of the concurrent streams.
const resetsKept = 256

func (r *resetRing) add(id uint32, window int) {
	if len(r.streams) < resetsKept {
		r.streams = append(r.streams, resetStream{id, int32(window)})
		return
	}
	r.streams[r.next] = resetStream{id, int32(window)}
	r.next = (r.next + 1) % resetsKept
}

// full reports whether the ring forgets a stream for each one that it remembers.
func (r *resetRing) full() bool { return len(r.streams) == resetsKept }

// find returns the stream with the id, or nil.
func (r *resetRing) find(id uint32) *resetStream {
	for i := range r.streams {
		if r.streams[i].id == id {
			return &r.streams[i]
		}
	}
	return nil
}
