package httpproxy

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
	maxconn 20000
	default_backend back
backend back
	server up {{.Upstream}}
`

func haproxy() (Program, error) {
	path, version, err := installed("haproxy", "-v")
	if err != nil {
		return Program{Name: "HAProxy"}, err
	}
	return configured("HAProxy", version, "haproxy.cfg", haproxyConfig, func(_ Setup, file string) []string {
		return []string{path, "-db", "-f", file}
	}), nil
}
