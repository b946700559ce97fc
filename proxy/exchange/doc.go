// Package exchange is what all protocols of a proxy do alike with a request: admit it to a route, choose an endpoint, decide
// about another attempt, count it and log it.
//
// A Plan is what becomes of a listener's requests; it never changes, and a reload makes another one. An Exchange is one
// request under a Plan, kept by a driver from the request's first byte to the answer's last. It owns no connection and no
// byte: the drivers, proxy/bolt and proxy/http1, bring both.
//
//	x.Begin(plan, l)                              // at the first byte
//	r, answer := matcher.Match(&request, nil, true)
//	if why := x.Admit(r); why == traffic.Forwarded {
//		why = x.Choose()                          // x.Endpoint is where to send it
//	}
//	...
//	if x.Failed(method, route.OnReset, true) {    // again: x.Choose()
//	}
//	...
//	x.Answered(upstream.Success)                  // the answer's head is here
//	x.End(traffic.HTTP(200))                      // and its last byte is queued
package exchange
