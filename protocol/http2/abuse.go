package http2

// Abuse is a way to make this side work or hold memory at little cost for the peer. RFC 9113, section 10.5. Conn counts the
// events of each kind, without a clock. Each kind has Config.AbuseBudget events. Tick gives back half of the budget. Useful
// work gives back one for one. For each useful frame, two WINDOW_UPDATE frames are free. A peer that exhausts a budget gets
// GOAWAY with ENHANCE_YOUR_CALM.
type Abuse uint8

// The kinds of abuse.
const (
	NoAbuse            Abuse = iota
	AbuseResets              // streams that the peer reset before they were complete; CVE-2023-44487
	AbuseErrors              // stream errors that the peer caused; CVE-2025-8671
	AbuseRefused             // streams beyond MaxStreams
	AbusePings               // PING; CVE-2019-9512
	AbuseSettings            // SETTINGS; CVE-2019-9515
	AbuseEmptyFrames         // DATA, HEADERS and CONTINUATION without content; CVE-2019-9518
	AbuseIgnoredFrames       // PRIORITY, unknown frames, and frames of closed streams; CVE-2019-9513
	AbuseWindows             // WINDOW_UPDATE of less than 1 KiB; CVE-2019-9511
	AbuseContinuation        // a field block beyond MaxHeader; CVE-2024-27316. It has no budget.
	AbuseHeaderBomb          // a field block that stands for much more than MaxHeader; CVE-2016-6581. It has no budget.
	AbuseUnread              // responses that wait because the peer does not read; CVE-2019-9512, 9514, 9515, 9517. See unread.go.

	AbuseKinds = iota // number of kinds, NoAbuse included
)

var abuseNames = [AbuseKinds]string{
	NoAbuse: "none", AbuseResets: "resets", AbuseErrors: "stream_errors", AbuseRefused: "refused_streams", AbusePings: "pings",
	AbuseSettings: "settings", AbuseEmptyFrames: "empty_frames", AbuseIgnoredFrames: "ignored_frames",
	AbuseWindows: "window_updates", AbuseContinuation: "continuation", AbuseHeaderBomb: "header_bomb", AbuseUnread: "unread_responses",
}

// String returns the name of the kind, as a value of the metrics label reason.
func (a Abuse) String() string { return abuseNames[a] }

// abuseBudgets counts the events of each kind.
type abuseBudgets struct {
	spent    [AbuseKinds]int32
	workSeen [AbuseKinds]uint32 // value of the kind's work counter when spent was last reduced
	frames   uint32             // frames that moved a part of a message: HEADERS and DATA sent, DATA received
	complete uint32             // streams that ended with END_STREAM on both sides
}

// spend counts one event of kind a. It returns false if the budget is exhausted. Useful work is subtracted only then, so the
// usual event costs one addition and one comparison.
func (b *abuseBudgets) spend(a Abuse, budget int) bool {
	b.spent[a]++
	if int(b.spent[a]) <= budget {
		return true
	}
	work, worth := b.frames, uint64(1)
	switch a {
	case AbuseResets, AbuseErrors, AbuseRefused:
		work = b.complete
	case AbuseWindows:
		worth = 2 // the peer updates the windows of the stream and of the connection
	}
	back := min(uint64(b.spent[a]), uint64(work-b.workSeen[a])*worth)
	b.workSeen[a] = work
	b.spent[a] -= int32(back)
	return int(b.spent[a]) <= budget
}

// refill gives back half of the budget of each kind.
func (b *abuseBudgets) refill(budget int) {
	for i := range b.spent {
		b.spent[i] = max(0, b.spent[i]-int32(max(budget/2, 1)))
	}
}

// idle reports whether no event is counted.
func (b *abuseBudgets) idle() bool { return b.spent == [AbuseKinds]int32{} }
