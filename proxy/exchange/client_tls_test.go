package exchange

import (
	"net/netip"
	"testing"

	"example.com/ferry/loop"
)

// infoLayer is a layer that ends TLS. Its methods of loop.Layer are not called here.
type infoLayer struct {
	loop.Layer
	info TLSInfo
}

func (l *infoLayer) ClientTLS() *TLSInfo { return &l.info }
func (l *infoLayer) Close()              {}

// otherLayer is a layer without TLS.
type otherLayer struct{ loop.Layer }

func (otherLayer) Close() {}

// TestClientTLS: the information comes from the connection's layer, and a connection without TLS has none.
func TestClientTLS(t *testing.T) {
	group, err := loop.New(&loop.Config{Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = group.Shutdown(t.Context()) }()
	layer := &infoLayer{info: TLSInfo{ServerName: "a.example"}}
	for _, row := range []struct {
		name  string
		layer loop.Layer
		want  *TLSInfo
	}{
		{"no layer", nil, nil},
		{"a layer without TLS", otherLayer{}, nil},
		{"a layer with TLS", layer, &layer.info},
	} {
		got := make(chan *TLSInfo)
		if err := group.Loops()[0].Post(func() {
			c := group.Loops()[0].Dial(loop.Addr{TCP: netip.MustParseAddrPort("127.0.0.1:1")}, 0, loop.Base{})
			if row.layer != nil {
				c.SetLayer(row.layer, nil)
			}
			info := ClientTLS(c)
			c.Abort(nil)
			got <- info
		}); err != nil {
			t.Fatal(err)
		}
		if info := <-got; info != row.want {
			t.Errorf("%s: %v, want %v", row.name, info, row.want)
		}
	}
}
