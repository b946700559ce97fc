package http1

// ClientAddr returns the client's address without a port, or an empty string if there is none. Its text is made only
// once per connection.
func (d *downstreamSide) ClientAddr() string {
	v := d.loopState.connInfos[d.client]
	if v.addr == "" {
		v.addr = d.client.RemoteIP()
		d.loopState.connInfos[d.client] = v
	}
	return v.addr
}

// lastRequest counts a request of the connection. It reports whether the connection has reached MaxRequests.
func (d *downstreamSide) lastRequest() bool {
	if d.settings.MaxRequests == 0 {
		return false
	}
	v := d.loopState.connInfos[d.client]
	v.requests++
	d.loopState.connInfos[d.client] = v
	return v.requests >= d.settings.MaxRequests
}
