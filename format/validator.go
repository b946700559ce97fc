package format

import "encoding/binary"

// Validator validates messages of one format. Its result is that of Format.Validate.
//
// A publisher often sends messages that differ in some values only. If the format is a Masker, a Validator remembers the shapes of
// recent valid messages: all bits that decide about validity. A message of a known shape is valid, and to find that out takes one
// comparison of eight bytes for eight bytes. Other messages cost what they cost without a Validator. Traffic without common shapes
// soon costs nothing on top, because a Validator that gains nothing compares and learns ever less.
//
// Only one goroutine may use a Validator at a time. It uses at most 104 KiB.
type Validator struct {
	format  Format
	masker  Masker // nil if the format is none
	options Options
	mask    []byte // reused by learn
	places  [64]shapePlace
}

// NewValidator returns a Validator for messages of f.
func NewValidator(f Format, o Options) *Validator {
	v := &Validator{format: f, options: o}
	v.masker, _ = f.(Masker)
	return v
}

const (
	minShaped  = 16      // bytes of the shortest message whose shape is stored; Format.Validate is fast for shorter ones
	maxShaped  = 4 << 10 // bytes of the longest such message
	maxWords   = 64      // words of the largest shape
	maxScore   = 8
	maxPassing = 255
)

// shapePlace stores one shape, for messages of one length and hint.
//
//	learn ──► passing: the next messages are not compared ──► comparing ── the score falls below 0 ──► learn
type shapePlace struct {
	length  int // of the messages; 0 if there is no shape
	words   []shapeWord
	score   int8  // rises with each message that has the shape, falls with each other one
	passing uint8 // number of messages that are not compared
	pause   uint8 // passing after the last learn; grows while few messages have the shape
}

// shapeWord is eight bytes of a message, of which the bits of mask decide about validity.
type shapeWord struct {
	offset     int
	want, mask uint64
}

// Validate returns nil if data is valid. hint is any number that messages of one shape have in common and others seldom have, such as
// the number of their topic. It only affects speed.
func (v *Validator) Validate(data []byte, hint uint32) error {
	if v.masker == nil || len(data) < minShaped || len(data) > maxShaped {
		return v.format.Validate(data, v.options)
	}
	p := &v.places[(uint32(len(data))+hint*7)%uint32(len(v.places))]
	if p.passing > 0 {
		p.passing--
		return v.format.Validate(data, v.options)
	}
	if p.fits(data) {
		if p.score = min(p.score+1, maxScore); p.score >= maxScore/2 { // not by chance
			p.pause = 0
		}
		return nil
	}
	err := v.format.Validate(data, v.options)
	if p.score--; err == nil && p.score < 0 {
		v.learn(p, data)
	}
	p.score = max(p.score, 0)
	return err
}

// fits reports whether data has the shape.
func (p *shapePlace) fits(data []byte) bool {
	if len(data) != p.length {
		return false
	}
	for i := range p.words {
		w := &p.words[i]
		if (binary.LittleEndian.Uint64(data[w.offset:])^w.want)&w.mask != 0 {
			return false
		}
	}
	return true
}

// learn stores the shape of data, which is valid, in p.
func (v *Validator) learn(p *shapePlace, data []byte) {
	p.pause = min(p.pause, maxPassing/2)*2 + 1
	p.passing, p.length = p.pause, 0
	if cap(v.mask) < len(data) {
		v.mask = make([]byte, maxShaped)
	}
	mask := v.mask[:len(data)]
	if !v.masker.Mask(mask, data) {
		return
	}
	p.words = p.words[:0]
	for next := 0; next < len(data); next += 8 {
		at := min(next, len(data)-8) // the last word may overlap the one before
		w := shapeWord{at, binary.LittleEndian.Uint64(data[at:]), binary.LittleEndian.Uint64(mask[at:])}
		if w.mask == 0 {
			continue
		}
		if len(p.words) == maxWords {
			return
		}
		p.words = append(p.words, w)
	}
	p.length = len(data)
}
