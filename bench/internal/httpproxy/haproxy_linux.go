package httpproxy

import "slices"

// haproxyConfig lets any request use any idle connection to the server. It disables strict limits: with them, HAProxy does not
// start if the process may not open two descriptors for each allowed connection.
const haproxyConfig = `global
	nbthread {{.Workers}}
	maxconn 20000
	no strict-limits
defaults
	mode http
	timeout connect 5s
	timeout client 1h
	timeout server 1h
	timeout http-keep-alive 1h
	http-reuse always
frontend front
	bind {{.Listen}} backlog 4096
{{- if .TLS.Cert}} ssl crt {{.TLS.Both}} ssl-min-ver TLSv1.2 curves X25519 alpn {{if .HTTP2}}h2{{else}}http/1.1{{end}}
{{- else if .HTTP2}} proto h2
{{- end}}
	maxconn 20000
	default_backend back
backend back
	server up {{.Upstream}}
{{- if .UpstreamTLS.Cert}} ssl ca-file {{.UpstreamTLS.Cert}} verify required verifyhost localhost sni str(localhost) alpn {{if .UpstreamHTTP2}}h2{{else}}http/1.1{{end}}
{{- else if .UpstreamHTTP2}} proto h2
{{- end}}
`

func haproxy() (Program, error) {
	path, version, err := Installed("haproxy", "-v")
	if err != nil {
		return Program{Name: "HAProxy"}, err
	}
	return haproxyAt([]string{path}, version), nil
}

// haproxyAt returns the HAProxy that a command line starts.
func haproxyAt(command []string, version string) Program {
	p := configured("HAProxy", version, "haproxy.cfg", haproxyConfig, func(_ Setup, file string) []string {
		return slices.Concat(command, []string{"-db", "-f", file})
	})
	p.supports = always
	return p
}
