package node

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"example.com/ferry/internal/clock"
	"example.com/ferry/internal/descriptors"
	"example.com/ferry/node/admin"
)

const (
	vitalsEvery = time.Second
	leastStall  = 3 * time.Second // a look that comes so much too late is a stall
	leastJump   = 2 * time.Second // a smaller step of the clock is a correction
	shortCalm   = 3 * time.Second // without a shortage of descriptors, until it is said to be over
)

// vitals looks every second at what all parts of the node depend on: that the process gets time, that the clock goes evenly, and that
// descriptors are left. It logs a change once, and counts it.
type vitals struct {
	log     *slog.Logger
	elapsed func() int64 // nanoseconds, which steps of the clock do not change
	wall    func() int64 // nanoseconds
	short   func() bool

	lastElapsed, lastWall int64
	shortSince, shortLast int64 // of elapsed; 0 if descriptors are left

	mu    sync.Mutex
	stats admin.Vitals
}

func newVitals(log *slog.Logger) *vitals {
	v := &vitals{log: log, elapsed: clock.Now, wall: func() int64 { return time.Now().UnixNano() }, short: descriptors.Short}
	v.lastElapsed, v.lastWall = v.elapsed(), v.wall()
	return v
}

// run looks until ctx ends.
func (v *vitals) run(ctx context.Context) {
	t := time.NewTicker(vitalsEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			v.look()
		case <-ctx.Done():
			return
		}
	}
}

func (v *vitals) look() {
	now, wall := v.elapsed(), v.wall()
	took := time.Duration(now - v.lastElapsed)
	jump := time.Duration(wall-v.lastWall) - took
	v.lastElapsed, v.lastWall = now, wall
	v.mu.Lock()
	defer v.mu.Unlock()
	if stall := took - vitalsEvery; stall >= leastStall {
		v.stats.Stalls++
		v.stats.Stalled += stall
		v.log.Warn("the process stood still: it was stopped, or the machine gave it no time", "for", stall.Round(time.Millisecond))
	}
	if jump.Abs() >= leastJump {
		v.stats.ClockJumps++
		direction := "forwards"
		if jump < 0 {
			direction = "back"
		}
		v.log.Warn("the clock has jumped", "direction", direction, "by", jump.Abs().Round(time.Millisecond), "now", time.Unix(0, wall).UTC())
	}
	v.lookAtDescriptors(now)
}

// lookAtDescriptors is called under the lock.
func (v *vitals) lookAtDescriptors(now int64) {
	switch short := v.short(); {
	case short && !v.stats.DescriptorsShort:
		v.stats.DescriptorsShort = true
		v.stats.Shortages++
		v.shortSince, v.shortLast = now, now
		limit, kept := descriptors.Limit()
		v.log.Warn("few descriptors are left: new connections wait until others end. Raise the limit (LimitNOFILE of the unit, ulimit -n), or set max_connections", "limit", limit, "kept", kept)
	case short:
		v.shortLast = now
	case v.stats.DescriptorsShort && now-v.shortLast >= int64(shortCalm):
		v.stats.DescriptorsShort = false
		v.log.Info("descriptors are free again", "after", time.Duration(v.shortLast-v.shortSince).Round(time.Second))
	}
}

// load returns the counters.
func (v *vitals) load() admin.Vitals {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.stats
}

// outages says what limits the whole node now, for /ready.
func (n *Node) outages() (all []string) {
	if n.vitals.load().DescriptorsShort {
		all = append(all, "few descriptors are left, and new connections wait")
	}
	if n.broker != nil {
		all = append(all, n.broker.Waiting()...)
		if down := n.functions.outage(); down != "" {
			all = append(all, down)
		}
	}
	n.mu.Lock()
	p := n.proxy
	n.mu.Unlock()
	if p != nil {
		for _, name := range p.Unresolved() {
			all = append(all, "cluster "+name+" does not find the names of its endpoints, and uses those known before")
		}
	}
	return all
}
