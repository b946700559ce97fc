package exchange

import (
	"time"

	"example.com/ferry/internal/compress"
	"example.com/ferry/loop"
)

// Compressor compresses the responses of one loop: at most turnBytes in a turn, so the other connections of the loop do not wait long. What exceeds
// that waits for the next turns, and the server is paused.
type Compressor struct {
	loop    *loop.Loop
	idle    []*compress.Encoder
	busy    int               // encoders of responses that are being compressed
	waiting []*compressedBody // bodies with bytes to compress, in the order in which they get their turns
	out     []byte            // what a piece becomes
	turn    time.Duration     // loop.Now in the turn that left belongs to
	left    int               // bytes that may be compressed in that turn
	woken   bool              // run will be called
	timer   *loop.Timer       // calls run if the mailbox of the loop is full
}

// Bounds of a Compressor.
const (
	turnBytes   = 16 << 10
	maxEncoders = 64 // responses that are compressed at a time; others pass unchanged
	maxIdle     = 8  // encoders that are kept for the next responses
)

// NewCompressor returns the compressor of a loop. Only code on the loop may use it.
func NewCompressor(l *loop.Loop) *Compressor { return &Compressor{loop: l} }

// encoder returns an encoder, or nil if there are enough, or memory is short. putEncoder releases it.
func (c *Compressor) encoder(name string) *compress.Encoder {
	if c.busy == maxEncoders || c.loop.Crowded() {
		return nil
	}
	c.busy++
	for i, e := range c.idle {
		if e.Name == name {
			last := len(c.idle) - 1
			c.idle[i], c.idle[last] = c.idle[last], nil
			c.idle = c.idle[:last]
			return e
		}
	}
	c.loop.Hold(compress.EncoderMemory)
	return compress.NewEncoder(name)
}

// putEncoder takes an encoder back. Idle ones count as held memory, too.
func (c *Compressor) putEncoder(e *compress.Encoder) {
	c.busy--
	if len(c.idle) == maxIdle || c.loop.Crowded() {
		c.loop.Hold(-compress.EncoderMemory)
		return
	}
	e.Reset()
	c.idle = append(c.idle, e)
}

// room returns how many bytes may be compressed in this turn of the loop.
func (c *Compressor) room() int {
	if now := c.loop.Now(); now != c.turn {
		c.turn, c.left = now, turnBytes
	}
	return c.left
}

// wait makes run continue b.
func (c *Compressor) wait(b *compressedBody) {
	if !b.waits {
		b.waits = true
		c.waiting = append(c.waiting, b)
	}
	c.wake()
}

func (c *Compressor) wake() {
	if c.woken {
		return
	}
	c.woken = true
	if c.loop.Post(c.run) != nil {
		if c.timer == nil {
			c.timer = c.loop.NewTimer(c.run)
		}
		c.timer.Set(0)
	}
}

// run compresses what waits, as far as the turn has room.
func (c *Compressor) run() {
	c.woken = false
	for n := len(c.waiting); n > 0 && c.room() > 0; n-- {
		b := c.waiting[0]
		c.waiting[0] = nil
		c.waiting, b.waits = c.waiting[1:], false
		if b.relay != nil { // otherwise the request has ended
			b.resume()
		}
	}
	if len(c.waiting) > 0 {
		c.wake()
	}
}
