package loop

// Stats are the counters of a loop or a group. Conns, Queues and Unread are the current values.
type Stats struct {
	Conns        int   // connections that are open or connecting
	Accepted     int64 // connections accepted by this loop, or handed over to it
	Refused      int64 // accepted connections that a Gate refused; they are in no other counter
	HandedOver   int64 // connections that this loop accepted and handed over to another loop
	Dialed       int64
	Closed       int64
	BytesIn      int64
	BytesOut     int64
	Spliced      int64 // bytes of BytesOut that were passed on without a copy: see Splicer
	Turns        int64
	Polls        int64 // calls that ask for events
	Reads        int64 // system calls that read
	Writes       int64
	Posted       int64 // functions posted
	AcceptErrors int64
	AcceptPauses int64 // times accepting stopped: no descriptors were left, or MaxConns was reached
	Crowded      int64 // connections that were reset because they left many bytes unread while the loop was crowded
	Queues       int   // chunks that hold bytes to write
	Unread       int   // connections that hold unread bytes
}

// Stats returns the loop's counters.
func (l *Loop) Stats() Stats {
	s := l.stats
	s.Conns, s.Queues = l.count, l.free.inUse
	return s
}

func (s *Stats) add(o Stats) {
	s.Conns += o.Conns
	s.Accepted += o.Accepted
	s.Refused += o.Refused
	s.HandedOver += o.HandedOver
	s.Dialed += o.Dialed
	s.Closed += o.Closed
	s.BytesIn += o.BytesIn
	s.BytesOut += o.BytesOut
	s.Spliced += o.Spliced
	s.Turns += o.Turns
	s.Polls += o.Polls
	s.Reads += o.Reads
	s.Writes += o.Writes
	s.Posted += o.Posted
	s.AcceptErrors += o.AcceptErrors
	s.AcceptPauses += o.AcceptPauses
	s.Crowded += o.Crowded
	s.Queues += o.Queues
	s.Unread += o.Unread
}
