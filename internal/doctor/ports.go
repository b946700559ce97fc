package doctor

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"syscall"
)

// longestSocket is the longest path of a Unix domain socket, in bytes: sun_path of unix(7) without the final zero.
const longestSocket = 107

// ports binds the addresses of the configuration for a moment. It binds none while the node runs that has them.
func (x *exam) ports() {
	if x.Running != nil && (x.Running.Err == nil || x.Running.untrusted()) {
		x.unchecked("the node at %s runs and has its ports", x.Running.Address)
		return
	}
	all := x.bound()
	for _, t := range all {
		if t.network == "unix" {
			x.socketPath(t)
			continue
		}
		host, port, err := net.SplitHostPort(t.address)
		if err != nil || port == "0" {
			continue
		}
		err = x.Machine.Listen(t.network, t.address)
		f := Finding{What: fmt.Sprintf("%s port %s cannot be bound: %v", t.network, t.address, err), Where: x.at(t.field), Why: "the node does not start"}
		switch {
		case err == nil:
			continue
		case errors.Is(err, syscall.EADDRINUSE):
			f.What = fmt.Sprintf("%s port %s is in use", t.network, t.address)
			f.Mend = fmt.Sprintf("stop what listens there, or choose another port; ss -lnp 'sport = :%s' names it", port)
		case privileged(err):
			f.Mend = "sudo setcap cap_net_bind_service=+ep $(command -v ferry), AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit, or a port above 1023"
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			f.What = fmt.Sprintf("%s is not an address of this machine", host)
			f.Mend = "write an address that ip addr shows, or 0.0.0.0 or [::] for all"
		default:
			f.Mend = "write an address of this machine"
		}
		x.fault(f)
	}
	x.fine("all %d addresses can be bound", len(all))
}

// socketPath looks at the path of a Unix domain socket.
func (x *exam) socketPath(t target) {
	folder := filepath.Dir(absolute(t.address))
	switch {
	case len(t.address) > longestSocket:
		x.fault(Finding{
			What: fmt.Sprintf("the path of the socket has %d bytes: at most %d are possible", len(t.address), longestSocket), Where: x.at(t.field),
			Why: "the node does not start", Mend: "choose a shorter path, such as /run/ferry/ferry.sock",
		})
	case existingFolder(folder) != folder:
		x.fault(Finding{
			What: folder + " does not exist", Where: x.at(t.field), Why: "the node cannot make its socket there, and does not start",
			Mend: "mkdir -p " + folder + ", or RuntimeDirectory=ferry in the unit for /run/ferry",
		})
	case x.Machine.Writable(folder) != nil:
		x.fault(Finding{
			What: fmt.Sprintf("user %d may not make files in %s", x.Machine.User, folder), Where: x.at(t.field), Why: "the node cannot make its socket there, and does not start",
			Mend: "choose a folder of the user of the node, or RuntimeDirectory=ferry in the unit for /run/ferry",
		})
	}
}
