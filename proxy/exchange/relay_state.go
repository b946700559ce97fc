package exchange

// A Relay's request, response and attempt have a state each, as each may be ahead of the others: a response may begin, and end,
// before the request is whole.
//
//	request:  requestOpen ──RequestEnd──► requestEnded
//	response: responseAwaited ──Response──► responseStarted ──ResponseEnd, reset──► responseEnded
//	              └──────────────── reject, Finish ─────────────────────────────────────▲
//	attempt:  noAttempt ──connect──► attemptOpen ──ResponseEnd, UpstreamFailed, cancel──► noAttempt
//	              └──connect──► attemptWaiting ──Connected──► attemptOpen
//	                                  └──cancel──► noAttempt
type (
	requestState  uint8
	responseState uint8
	attemptState  uint8
)

const (
	requestOpen  requestState = iota // more of its body may come
	requestEnded                     // it is whole
)

const (
	responseAwaited responseState = iota
	responseStarted               // the client has its head
	responseEnded                 // nothing more of it comes: whole, cut short, or the proxy's own
)

const (
	noAttempt      attemptState = iota
	attemptWaiting              // for a connection
	attemptOpen                 // up takes the request
)
