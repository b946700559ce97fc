package config

import (
	"fmt"
	"strings"

	"example.com/ferry/internal/regularfile"
	"example.com/ferry/transport"
)

// Token returns the token of TokenFile; empty if there is no file. No error shows the token.
func (a Admin) Token() (string, error) {
	if a.TokenFile == "" {
		return "", nil
	}
	data, err := regularfile.Read(a.TokenFile, MaxTokenFile)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minToken || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("%s holds no token: want one line of at least %d characters without spaces, such as of openssl rand -hex 32", a.TokenFile, minToken)
	}
	return token, nil
}

func (a Admin) check(errs *configErrors) {
	if a.Address == "off" {
		a.Address = ""
	}
	if a.Address != "" {
		if err := transport.CheckHostPort(a.Address); err != nil {
			errs.add("admin.address", "%q %v", a.Address, err)
		} else if a.TokenFile == "" && !isLoopback(a.Address) {
			errs.add("admin.address", "%q is reachable from other machines, and the server would ask for no password: give admin.token_file; "+
				"or write 127.0.0.1:PORT, and reach it through an SSH tunnel (ssh -L 4195:127.0.0.1:4195 HOST)", a.Address)
		}
	}
	if _, err := a.Token(); err != nil {
		errs.add("admin.token_file", "%v", err)
	}
	checkPair("admin.", a.CertFile, a.KeyFile, errs)
	if a.MetricsAddress == "" {
		return
	}
	if err := transport.CheckHostPort(a.MetricsAddress); err != nil {
		errs.add("admin.metrics_address", "%q %v", a.MetricsAddress, err)
	} else if a.MetricsAddress == a.Address && !strings.HasSuffix(a.Address, ":0") {
		errs.add("admin.metrics_address", "%q is admin.address: choose another port, or leave it out", a.MetricsAddress)
	}
}
