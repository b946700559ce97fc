package mqtt

import "iter"

// UnsubscribePacket is a request to end subscriptions. Section 3.10. Its slices are views.
type UnsubscribePacket struct {
	ID         uint16
	Properties Properties
	Topics     Topics
}

// Topics has the encoded filters of an UNSUBSCRIBE.
type Topics []byte

// All returns the filters in their order, as views.
func (ts Topics) All() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(ts) > 0 {
			filter, n := lengthPrefixed(ts)
			if n == 0 || !yield(filter) {
				return
			}
			ts = ts[n:]
		}
	}
}

// Len returns the number of filters.
func (ts Topics) Len() int {
	count := 0
	for range ts.All() {
		count++
	}
	return count
}

// AppendTopic appends a filter. It leaves out a filter longer than MaxText bytes.
func AppendTopic[T string | []byte](ts Topics, filter T) Topics {
	if len(filter) > MaxText {
		return ts
	}
	return appendPrefixed(ts, filter)
}

// ParseUnsubscribe reads an UNSUBSCRIBE. The filters are UTF-8 strings.
func ParseUnsubscribe(p Packet) (UnsubscribePacket, error) {
	r := bodyReader{b: p.Body, kind: Unsubscribe}
	u := UnsubscribePacket{ID: r.id()}
	if p.Version == V5 {
		u.Properties, _ = r.properties(1<<Unsubscribe, p.FromServer)
	}
	u.Topics = Topics(r.b)
	if len(u.Topics) == 0 {
		r.fail(ProtocolError, "there is no filter") // section 3.10.3
	}
	for len(r.b) > 0 {
		r.text("filter")
	}
	return u, r.end()
}

// AppendUnsubscribe appends an UNSUBSCRIBE. It returns an *Error if the packet is too long.
func AppendUnsubscribe(dst []byte, v Version, u *UnsubscribePacket) ([]byte, error) {
	return appendRequest(dst, v, Unsubscribe, u.ID, u.Properties, u.Topics)
}
