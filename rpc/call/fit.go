package call

import "unicode/utf8"

// Room is the place that a protocol has for a Status beside its code.
type Room struct {
	Bytes   int                 // for message and details together
	Message int                 // for the message alone; 0 means Bytes
	Byte    func(c byte) int    // bytes that a byte of the message takes; nil means 1
	Detail  func(d *Detail) int // bytes that a detail takes; more than Bytes if the protocol cannot carry it
}

const (
	cutMark      = "..." // follows the part of a message for which there was room
	leastMessage = 64    // a message is not cut below this length
)

// Fit returns s as far as there is room for it, so that a Status that is too large does not lose its code. The message is cut behind a whole
// character. What is left of the room goes to the details, and those that do not fit are left out. It returns s itself if all of it fits.
func (s *Status) Fit(r Room) *Status {
	most := r.Bytes
	if r.Message > 0 {
		most = min(most, r.Message)
	}
	message, used := r.cut(s.Message, max(most, leastMessage))
	left, all := r.Bytes-used, 0
	for i := range s.Details {
		if n := r.Detail(&s.Details[i]); n <= left {
			left, all = left-n, all+1
		}
	}
	if len(message) == len(s.Message) && all == len(s.Details) {
		return s
	}
	fit := &Status{Code: s.Code, Message: message}
	left = r.Bytes - used
	for i := range s.Details {
		if n := r.Detail(&s.Details[i]); n <= left {
			left -= n
			fit.Details = append(fit.Details, s.Details[i])
		}
	}
	return fit
}

// cut returns the beginning of text that takes at most most bytes, and how many it takes.
func (r *Room) cut(text string, most int) (short string, used int) {
	size := func(c byte) int {
		if r.Byte == nil {
			return 1
		}
		return r.Byte(c)
	}
	whole, wholeUsed := 0, 0 // the end of the last character that leaves room for cutMark
	for i := range len(text) {
		if utf8.RuneStart(text[i]) && used <= most-len(cutMark) {
			whole, wholeUsed = i, used
		}
		if used += size(text[i]); used > most {
			return text[:whole] + cutMark, wholeUsed + len(cutMark)
		}
	}
	return text, used
}
