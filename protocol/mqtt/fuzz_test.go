package mqtt

import (
	"bytes"
	"testing"
)

// FuzzPackets: no bytes panic. What Next and the Parse functions accept is the same after it was written and read again.
func FuzzPackets(f *testing.F) {
	_, all := vectors(f)
	for _, v := range all {
		f.Add(v.packet, byte(v.limits.Version), v.limits.FromServer)
		f.Add(append(bytes.Clone(v.packet), v.packet[:len(v.packet)/2]...), byte(V5), v.limits.FromServer)
	}
	f.Fuzz(func(t *testing.T, data []byte, version byte, fromServer bool) {
		l := Limits{Version: Version(version), FromServer: fromServer, MaxPacket: 1 << 20}
		if l.Version != V5 && (l.Version != 0 || fromServer) {
			l.Version = V311
		}
		for range 100 {
			p, need, err := Next(data, l)
			if err != nil {
				asError(t, err)
				return
			}
			if need != 0 {
				if need <= len(data) || need > l.MaxPacket {
					t.Fatalf("need %d after %d bytes", need, len(data))
				}
				return
			}
			packet, err := parse(p)
			if err != nil {
				e := asError(t, err)
				if !e.Close || e.Kind != p.Kind {
					t.Fatalf("%x: %#v", data, e)
				}
			} else {
				v := l.Version
				if c, ok := packet.(ConnectPacket); ok {
					v = c.Version
				}
				again := write(t, nil, v, packet)
				if len(again) > p.Size {
					t.Fatalf("%x: written again as %x", data[:p.Size], again)
				}
				if _, got := whole(t, again, l); describe(got) != describe(packet) {
					t.Fatalf("%x: got %s, want %s", data[:p.Size], describe(got), describe(packet))
				}
			}
			data = data[p.Size:]
		}
	})
}
