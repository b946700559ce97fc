package pipeline

// Stats are the counters of a pipeline since it was made.
type Stats struct {
	Steps   []StepStats
	Groups  int    // that it keeps state for
	Open    int    // windows that are open, and messages that debounce and sample hold
	Refused uint64 // messages that were dropped, because their group would exceed MaxGroups
	Failed  uint64 // results that were not published, and states of groups that were too large to be saved
}

// StepStats are the counters of one step. A window and its aggregate are one step.
type StepStats struct {
	Text    string // the step on one line
	In, Out uint64 // messages or records
	Skipped uint64 // messages that lack a field that the step needs, or have it in another form; or whose event time is too far ahead
	Late    uint64 // messages whose windows had ended
}

// Stats returns the counters. They are those of the last call that has ended.
func (p *Pipeline) Stats() Stats {
	s := Stats{
		Groups: int(p.shown.groups.Load()), Open: int(p.shown.open.Load()),
		Refused: p.shown.refused.Load(), Failed: p.shown.failed.Load(),
	}
	for _, c := range p.counts {
		s.Steps = append(s.Steps, StepStats{c.text, c.in.Load(), c.out.Load(), c.skipped.Load(), c.late.Load()})
	}
	return s
}
