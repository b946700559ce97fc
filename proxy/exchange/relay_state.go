package exchange

// The states of a Relay. The request, the response and the attempt have one state each, because none of them waits
// for another: a response may start and end before the request is complete. A compressed response is responseStarted until the client has its last
// byte, which may be some turns of the loop after the server's ResponseEnd.
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
	requestOpen  requestState = iota // more of the request body may arrive
	requestEnded                     // the request is complete
)

const (
	responseAwaited responseState = iota
	responseStarted               // the client has the response's head
	responseEnded                 // no more of the response follows: it is complete, cut short, or the proxy's own
)

const (
	noAttempt      attemptState = iota
	attemptWaiting              // waits for a connection
	attemptOpen                 // up accepts the request
)
