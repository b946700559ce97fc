package exchange

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net/netip"
	"strings"
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

// TestForwardedCert: a certificate's names cannot add elements, fields or lines.
func TestForwardedCert(t *testing.T) {
	for _, row := range []struct {
		name string
		cert x509.Certificate
		want string
	}{
		{"plain", x509.Certificate{Subject: pkix.Name{CommonName: "edge"}, DNSNames: []string{"a", "b"}}, `Subject="CN=edge";DNS=a;DNS=b`},
		{"separators", x509.Certificate{DNSNames: []string{`a,Hash=0`, `b";URI=x`, `c\`}}, `Subject="";DNS="a,Hash=0";DNS="b\";URI=x";DNS="c\\"`},
		{"quotes in the subject", x509.Certificate{Subject: pkix.Name{CommonName: `a";Hash=0;x="\`}}, `Subject="CN=a\"\;Hash=0\;x=\"\\"`},
		{"lines", x509.Certificate{Subject: pkix.Name{CommonName: "a\r\nb"}, DNSNames: []string{"c\nd"}}, `Subject="CN=a__b";DNS=c_d`},
	} {
		if got := strings.TrimPrefix(forwardedCert(&row.cert, [32]byte{}), "Hash="+strings.Repeat("0", 64)+";"); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}
