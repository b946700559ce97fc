package doctor

import "fmt"

// What ferry and its library for QUIC use of the kernel's network.
const (
	quicBuffer  = 7 << 20 // bytes of a socket's buffer that quic-go requests
	fewAccepted = 1024    // connections that wait to be accepted
)

// udpBuffers looks at the largest buffers of UDP sockets.
func (x *exam) udpBuffers() {
	if !x.usesQUIC() {
		x.fine("the configuration has no QUIC")
		return
	}
	for _, each := range []struct{ name, why string }{
		{"net.core.rmem_max", "datagrams that arrive while the node is busy are dropped, and QUIC sends them again: less throughput and higher latency"},
		{"net.core.wmem_max", "QUIC sends in smaller portions: less throughput"},
	} {
		file := sysctl(each.name)
		n, ok := x.Machine.number(file)
		switch {
		case !ok:
			x.unchecked("%s cannot be read: in a container, look at the host", file)
		case n < quicBuffer:
			x.warning(Finding{
				What:  fmt.Sprintf("%s is %s, and QUIC requests %s", each.name, human(n), human(int64(quicBuffer))),
				Where: file,
				Why:   each.why,
				Mend:  setSysctl(each.name, quicBuffer),
			})
		}
	}
	x.fine("the kernel permits the buffers that QUIC requests")
}

// acceptQueue looks at how many connections may wait until a listener accepts them. Listeners request as many as the kernel permits.
func (x *exam) acceptQueue() {
	for _, name := range []string{"net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog"} {
		file := sysctl(name)
		n, ok := x.Machine.number(file)
		switch {
		case !ok:
			x.unchecked("%s cannot be read", file)
		case n < fewAccepted:
			x.warning(Finding{
				What:  fmt.Sprintf("%s is %d", name, n),
				Where: file,
				Why:   "when many clients connect at once, as after a restart, further ones wait a second or more for their next attempt",
				Mend:  setSysctl(name, 4096),
			})
		}
	}
	x.fine("%d connections or more may wait until they are accepted", fewAccepted)
}

// sysctl returns the file of a setting of the kernel.
func sysctl(name string) string {
	b := []byte("/proc/sys/" + name)
	for i := range b {
		if b[i] == '.' {
			b[i] = '/'
		}
	}
	return string(b)
}

// setSysctl returns the command that changes a setting now and for the next boot.
func setSysctl(name string, n int) string {
	return fmt.Sprintf("sudo sysctl -w %s=%d, and the line %s = %d in /etc/sysctl.d/60-ferry.conf for the next boot", name, n, name, n)
}
