package doctor

import "fmt"

// descriptorReserve is what a node opens beside the connections of its clients: listeners, files of streams, connections to others.
const descriptorReserve = 256

// fewDescriptors is a limit with which a proxy accepts fewer clients than most machines could serve.
const fewDescriptors = 4096

// descriptors compares the limit of open files with the connections that the configuration permits.
func (x *exam) descriptors() {
	limit, err := x.Machine.Descriptors()
	from := "RLIMIT_NOFILE of this shell"
	if err != nil {
		x.unchecked("how many files a process may open is not known: %v", err)
		return
	}
	if n := x.Running.metric("process_max_fds"); n > 0 {
		limit, from = uint64(n), "RLIMIT_NOFILE of the running node"
	}
	need, fields := uint64(descriptorReserve), ""
	if len(x.Node.Listeners) > 0 {
		need += uint64(x.Node.Limits.MaxConnections)
		fields = "limits.max_connections"
	}
	if p := x.Node.Proxy; p != nil && p.MaxConnections > 0 { // each client may have a connection to a server
		need += 2 * uint64(p.MaxConnections)
		if fields != "" {
			fields += ", "
		}
		fields += "proxy.max_connections"
	}
	mend := func(n uint64) string { // this process has the hard limit already, so that ulimit -n cannot raise it
		return fmt.Sprintf("LimitNOFILE=%d in the unit (systemctl edit ferry), --ulimit nofile=%d of the container, or for a shell the line * - nofile %d in /etc/security/limits.d/ferry.conf and a new login", n, n, n)
	}
	switch p := x.Node.Proxy; {
	case limit < need:
		x.fault(Finding{
			What:  fmt.Sprintf("a process may open %d files, and the configuration needs up to %d (%s)", limit, need, fields),
			Where: from,
			Why:   "when they are used up, the node accepts no client and reaches no server",
			Mend:  mend(need),
		})
	case p != nil && p.MaxConnections == 0 && limit < fewDescriptors:
		x.warning(Finding{
			What:  fmt.Sprintf("a process may open %d files: the proxy accepts %d clients", limit, limit/8*7),
			Where: from,
			Why:   "further clients wait in the kernel until others leave; connections to servers need descriptors too",
			Mend:  mend(65536),
		})
	}
	x.fine("a process may open %d files, and the configuration needs up to %d", limit, need)
}
