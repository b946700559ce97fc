package traffic

// Abuse is the way in which a client of HTTP/2 misused the protocol, so that its connection was ended (RFC 9113, section
// 10.5).
type Abuse uint8

// The kinds of abuse.
const (
	Resets          Abuse = iota // requests that the client reset before their responses
	StreamErrors                 // streams that violated the protocol
	RefusedStreams               // requests above max_streams
	Pings                        // PING frames
	Settings                     // SETTINGS frames
	EmptyFrames                  // frames without content
	IgnoredFrames                // frames without effect
	WindowUpdates                // small WINDOW_UPDATE frames
	Continuation                 // a head that is much larger than max_header
	HeaderBomb                   // a small head that stands for much more than max_header
	UnreadResponses              // the client sends and does not read
	abuses
)

// String returns the value of the metrics label reason.
func (a Abuse) String() string {
	return [abuses]string{
		"resets", "stream_errors", "refused_streams", "pings", "settings", "empty_frames", "ignored_frames", "window_updates", "continuation", "header_bomb", "unread_responses",
	}[a]
}
