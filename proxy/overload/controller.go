package overload

import "time"

// Sample is one measurement.
type Sample struct {
	Memory      int64         // bytes that the process uses
	Lag         time.Duration // shortest delay of the loop that is latest, over the last second
	Connections int64         // open connections of all listeners
}

// limits are what samples are compared with; 0 means that a value does not matter.
type limits struct {
	memory      int64
	lag         time.Duration
	connections int64
}

// A resource has a pressure: its value divided by its limit. The thresholds for entering a level are above those for leaving
// it, so that the level does not follow each small change.
const (
	shrinkMemory, growMemory = 0.90, 0.85 // enter and leave Shrinking
	refuseMemory, refuseAll  = 0.93, 0.97 // the share of refused requests grows from 0 to 1 between them
	closeMemory, openMemory  = 0.97, 0.94 // enter and leave RefusingConnections
	shrinkConns, growConns   = 0.95, 0.90 // enter and leave Shrinking
	lateLag, timelyLag       = 1.0, 0.5   // the share of refused requests grows above, and shrinks below
	leastShare               = 1.0 / 16
	memoryRecovery           = 0.4      // decrease of the share each second
	lagGrowth, lagRecovery   = 0.4, 0.1 // change of the share each second, for each limit that the loops are late; slow, as delays are seen a second late
)

// controller decides about the level. It has no clock.
//
//	         memory 90 %, connections 95 %      memory 93 %, lag            memory 97 %, lag and share 1
//	Normal ─────────────────────────────► Shrinking ──────────► RefusingRequests ──────────► RefusingConnections
//	       ◄───────────────────────────── (both)    ◄────────── share is 0       ◄──────────
//	         memory 85 %, connections 90 %                                        memory 94 %, lag is over
//
// A higher level is entered at once and from every lower one. Requests are refused by a share that grows and shrinks over time:
// if all were refused until the process has recovered, all clients would return at once, and the load would swing.
type controller struct {
	limits      limits
	shrinking   bool    // Shrinking for memory or connections
	closing     bool    // connections are refused
	memoryShare float64 // share of refused requests because of memory
	lagShare    float64 // share of refused requests because of delays
}

// step takes a sample, a time after the one before, and returns the level and the share of refused requests.
func (c *controller) step(s Sample, since time.Duration) (Level, float64) {
	memory, lag, conns := 0.0, 0.0, 0.0
	if c.limits.memory > 0 {
		memory = float64(s.Memory) / float64(c.limits.memory)
	}
	if c.limits.lag > 0 {
		lag = float64(s.Lag) / float64(c.limits.lag)
	}
	if c.limits.connections > 0 {
		conns = float64(s.Connections) / float64(c.limits.connections)
	}
	dt := min(since, time.Second).Seconds()

	switch {
	case memory >= shrinkMemory || conns >= shrinkConns:
		c.shrinking = true
	case memory < growMemory && conns < growConns:
		c.shrinking = false
	}

	want := 0.0
	if memory >= refuseMemory {
		want = min(max((memory-refuseMemory)/(refuseAll-refuseMemory), leastShare), 1)
	}
	c.memoryShare = max(want, c.memoryShare-memoryRecovery*dt, 0)
	switch {
	case lag >= lateLag:
		c.lagShare = min(c.lagShare+lagGrowth*min(lag, 4)*dt, 1)
	case lag < timelyLag:
		c.lagShare = max(c.lagShare-lagRecovery*dt, 0)
	}

	switch {
	case memory >= closeMemory || lag >= lateLag && c.lagShare == 1:
		c.closing = true
	case memory < openMemory && lag < timelyLag:
		c.closing = false
	}

	share := max(c.memoryShare, c.lagShare)
	switch {
	case c.closing:
		return RefusingConnections, share
	case share > 0:
		return RefusingRequests, share
	case c.shrinking:
		return Shrinking, 0
	}
	return Normal, 0
}
