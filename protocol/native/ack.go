package native

import (
	"encoding/binary"
	"iter"
	"math"
)

// Flags of ACK, NAK and UNSUB.
const (
	FlagInProgress = 0x01 // ACK: the client still handles all messages that the subscription holds
	FlagReject     = 0x01 // NAK: do not deliver the messages again
	FlagNotTried   = 0x02 // NAK, UNSUB of a durable: no handler has seen the messages, so this delivery does not count
)

// AckFrame says that messages of a durable are done.
type AckFrame struct {
	Sub        uint32
	InProgress bool   // none is done: the client still handles all messages that the subscription holds. Ranges is empty
	Ranges     []byte // sequence numbers, as AppendRange writes them. The receiver ignores those that the subscription does not hold
}

// NakFrame says that messages of a durable have failed.
type NakFrame struct {
	Sub    uint32
	Flags  byte   // FlagReject, FlagNotTried
	Delay  uint32 // milliseconds until the next delivery; 0 means that the durable's configuration decides
	Reason string
	Ranges []byte // as in AckFrame
}

// Range is Count consecutive sequence numbers from First.
type Range struct {
	First uint64
	Count uint32
}

// RangeSize is the length of a Range on the wire, in bytes.
const RangeSize = 12

// AppendRange appends r to the ranges in dst. If r continues the last one, it extends that one.
func AppendRange(dst []byte, r Range) []byte {
	if n := len(dst) - RangeSize; n >= 0 {
		last := readRange(dst[n:])
		if sum := uint64(last.Count) + uint64(r.Count); last.First+uint64(last.Count) == r.First && sum <= math.MaxUint32 {
			binary.BigEndian.PutUint32(dst[n+8:], uint32(sum))
			return dst
		}
	}
	dst = binary.BigEndian.AppendUint64(dst, r.First)
	return binary.BigEndian.AppendUint32(dst, r.Count)
}

// RangesOf returns the ranges that AppendRange has appended.
func RangesOf(b []byte) iter.Seq[Range] {
	return func(yield func(Range) bool) {
		for ; len(b) >= RangeSize; b = b[RangeSize:] {
			if !yield(readRange(b)) {
				return
			}
		}
	}
}

func readRange(b []byte) Range {
	return Range{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:])}
}

// AppendAck appends an ACK.
func AppendAck(dst []byte, a AckFrame) []byte {
	n := len(dst)
	var flags byte
	if a.InProgress {
		flags = FlagInProgress
	}
	dst = binary.BigEndian.AppendUint32(appendHeader(dst, Ack, flags), a.Sub)
	return seal(append(dst, a.Ranges...), n)
}

// AppendNak appends a NAK.
func AppendNak(dst []byte, v NakFrame) []byte {
	n := len(dst)
	dst = binary.BigEndian.AppendUint32(appendHeader(dst, Nak, v.Flags), v.Sub)
	dst = appendText(binary.BigEndian.AppendUint32(dst, v.Delay), v.Reason)
	return seal(append(dst, v.Ranges...), n)
}

// ParseAck reads an ACK. Ranges is a part of f.
func ParseAck(f Frame) (a AckFrame, err error) {
	r := readFields(f)
	a.Sub, a.InProgress = r.u32(), f.Flags()&FlagInProgress != 0
	if !a.InProgress {
		a.Ranges = r.ranges()
	}
	return a, r.done()
}

// ParseNak reads a NAK. Ranges is a part of f.
func ParseNak(f Frame) (v NakFrame, err error) {
	r := readFields(f)
	v.Sub, v.Flags, v.Delay, v.Reason = r.u32(), f.Flags()&(FlagReject|FlagNotTried), r.u32(), r.text()
	v.Ranges = r.ranges()
	return v, r.done()
}

// ranges reads the rest of the frame, which has at least one range.
func (r *fieldReader) ranges() []byte {
	all := r.b
	if len(all) == 0 || len(all)%RangeSize != 0 {
		r.failed = true
		return nil
	}
	for each := range RangesOf(all) {
		if each.First == 0 || each.Count == 0 || each.First > math.MaxUint64-uint64(each.Count) {
			r.failed = true
			return nil
		}
	}
	return all
}
