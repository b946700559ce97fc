package httpproxy

import "strconv"

// nghttpx takes all its settings as options. It rewrites no headers and keeps no access log.
func nghttpx() (Program, error) {
	path, version, err := Installed("nghttpx", "--version")
	if err != nil {
		return Program{Name: "nghttpx"}, err
	}
	return Program{Name: "nghttpx", Version: version, supports: always, argv: func(s Setup, _ string) []string {
		frontend, backend := "--frontend=127.0.0.1,"+s.Port(), "--backend=127.0.0.1,"+s.UpstreamPort()+";"
		argv := []string{
			path, "--conf=/dev/null", "--workers=" + strconv.Itoa(s.Workers), "--log-level=ERROR", "--no-ocsp", "--no-via",
			"--no-server-rewrite", "--no-add-x-forwarded-proto", "--backlog=4096", "--ecdh-curves=X25519",
			"--backend-keep-alive-timeout=1h", "--frontend-keep-alive-timeout=1h",
		}
		if s.TLS.Cert == "" {
			frontend += ";no-tls"
		}
		if s.UpstreamHTTP2 {
			backend += ";proto=h2"
		}
		if s.UpstreamTLS.Cert != "" {
			backend += ";tls;sni=localhost"
			argv = append(argv, "--cacert="+s.UpstreamTLS.Cert)
		}
		argv = append(argv, frontend, backend)
		if s.TLS.Cert != "" {
			argv = append(argv, s.TLS.Key, s.TLS.Cert)
		}
		return argv
	}}, nil
}
