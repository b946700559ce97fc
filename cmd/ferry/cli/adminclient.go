package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"example.com/ferry/internal/pki"
)

// adminFlags are the admin server that a verb requests, and the credentials. The verb has the address.
type adminFlags struct {
	AdminTokenFile string `placeholder:"FILE" help:"The file with the token of the admin server. The default is token in the data directory."`
	CA             string `name:"ca" placeholder:"FILE" help:"The CA certificate to trust. The default is ca.pem in the data directory."`
	DataDir        string `default:"./ferry-data" placeholder:"DIR" help:"The data directory of a node on this machine. The default is ./ferry-data."`
}

// defaultAdmin is the admin server of a node with the default configuration.
const defaultAdmin = "http://127.0.0.1:4195"

// adminTarget is the admin server that a verb requests.
type adminTarget struct {
	Admin string `short:"a" placeholder:"URL" help:"The admin server of the node. The default is http://127.0.0.1:4195."`
	adminFlags
}

// connect returns a client of the admin server, which the caller closes.
func (a *adminTarget) connect() (*adminClient, error) { return a.client(cmp.Or(a.Admin, defaultAdmin)) }

// adminArgument is an adminTarget for a verb without another argument: the address may be the argument, too.
type adminArgument struct {
	Argument string `arg:"" optional:"" name:"admin" help:"The admin server of the node. The default is http://127.0.0.1:4195."`
	Admin    string `short:"a" placeholder:"URL" help:"The same as the argument."`
	adminFlags
}

// connect is adminTarget.connect.
func (a *adminArgument) connect() (*adminClient, error) {
	address, err := oneAdmin(a.Argument, a.Admin)
	if err != nil {
		return nil, err
	}
	return a.client(cmp.Or(address, defaultAdmin))
}

// oneAdmin returns the address of a verb's argument or of its flag; empty if it has neither.
func oneAdmin(argument, flag string) (string, error) {
	if argument != "" && flag != "" && argument != flag {
		return "", usagef("the admin server is named twice: %s, and %s by -a", argument, flag)
	}
	return cmp.Or(argument, flag), nil
}

// maxAdminResponse bounds the response of an admin server, in bytes. /metrics of a node with many tags has some MiB.
const maxAdminResponse = 64 << 20

// connectTimeout bounds connecting to an admin server.
const connectTimeout = 10 * time.Second

// adminClient requests an admin server. Its methods may overlap.
type adminClient struct {
	base  *url.URL
	token string
	body  []byte // of requests; nil for most
	http  *http.Client

	dataDir  string
	unproven *http.Client // sends no token; nil unless the token is that of the data directory, for servers in cleartext, which prove first that they know it
}

// adminError is a response that is not 200.
type adminError struct {
	status int
	text   string // the response: what the server says
	advice string
	date   time.Time // of the response; zero if it has none
}

func (e *adminError) Error() string {
	return fmt.Sprintf("the admin server responded %d: %s%s", e.status, e.text, e.advice)
}

// client returns a client of the admin server at address, such as http://127.0.0.1:4195. The caller closes it.
func (a *adminFlags) client(address string) (*adminClient, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, usagef("%q is no address of an admin server: want http://HOST:PORT or https://HOST:PORT", address)
	}
	c := &adminClient{base: base, dataDir: a.DataDir, http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	trust, err := a.trust(base)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		TLSClientConfig: trust, DialContext: (&net.Dialer{Timeout: connectTimeout}).DialContext, TLSHandshakeTimeout: connectTimeout,
	}
	c.http.Transport = transport
	if c.token, err = a.token(base); err == nil && c.token != "" && a.AdminTokenFile == "" && base.Scheme == "http" {
		c.unproven = &http.Client{Transport: transport.Clone(), CheckRedirect: c.http.CheckRedirect}
		transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialProven(ctx, network, addr, c.token)
		}
	}
	return c, err
}

// trust returns the CA to trust; nil, the system's, if there is no file.
func (a *adminFlags) trust(base *url.URL) (*tls.Config, error) {
	if base.Scheme != "https" {
		return nil, nil
	}
	if a.CA != "" {
		return pki.ClientTLS(a.CA)
	}
	trust, err := pki.ClientTLS(filepath.Join(a.DataDir, pki.CAFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return trust, err
}

// token returns the token to send; empty if there is none. The one in the data directory goes to this machine only.
func (a *adminFlags) token(base *url.URL) (string, error) {
	if a.AdminTokenFile != "" {
		return pki.ReadToken(a.AdminTokenFile)
	}
	if !isLoopback(base.Hostname()) {
		return "", nil
	}
	token, err := pki.ReadToken(filepath.Join(a.DataDir, pki.TokenFile))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return "", nil
	}
	return token, err
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func (c *adminClient) close() {
	c.http.CloseIdleConnections()
	if c.unproven != nil {
		c.unproven.CloseIdleConnections()
	}
}

// get requests a path, which may have a query, and decodes the JSON of the response into v.
func (c *adminClient) get(ctx context.Context, path string, v any) error {
	return c.decode(ctx, http.MethodGet, path, v)
}

// post is get with POST.
func (c *adminClient) post(ctx context.Context, path string, v any) error {
	return c.decode(ctx, http.MethodPost, path, v)
}

// send is post with a body of JSON.
func (c *adminClient) send(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	with := *c
	with.body = body
	return with.decode(ctx, http.MethodPost, path, out)
}

func (c *adminClient) decode(ctx context.Context, method, path string, v any) error {
	body, err := c.do(ctx, method, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%s: the response is not JSON as expected: is this a node's admin server? %w", c.base, err)
	}
	return nil
}

// do requests a path and returns the body of a response with status 200.
func (c *adminClient) do(ctx context.Context, method, path string) ([]byte, error) {
	response, err := c.open(ctx, method, path)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAdminResponse+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", c.base, err)
	case len(body) > maxAdminResponse:
		return nil, fmt.Errorf("%s: the response exceeds %d bytes", c.base, maxAdminResponse)
	}
	return body, nil
}

// open requests a path and returns a response with status 200, whose body the caller closes.
func (c *adminClient) open(ctx context.Context, method, path string) (*http.Response, error) {
	target, err := c.base.Parse(path)
	if err != nil {
		return nil, err
	}
	do := func(with *http.Client, token string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(c.body))
		if err != nil {
			return nil, err
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return with.Do(r)
	}
	response, err := do(c.http, c.token)
	unproven := c.unproven != nil && errors.Is(err, errUnproven)
	if unproven { // many requests need no token
		response, err = do(c.unproven, "")
	}
	if err != nil {
		return nil, c.explain(err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 4096)) // the status says enough without it
	refused := &adminError{status: response.StatusCode, text: strings.TrimSpace(string(text)), date: dateOf(response)}
	if response.StatusCode == http.StatusUnauthorized {
		refused.advice = "\nname the file with its token with --admin-token-file, or the node's data directory with --data-dir; only the node's user may read them"
		if unproven {
			refused.advice += "\nthat of " + c.dataDir + " was not sent: " + errUnproven.Error()
		}
	}
	return nil, refused
}

// dateOf returns the time at which a response was made; zero if the server does not say.
func dateOf(response *http.Response) time.Time {
	t, _ := http.ParseTime(response.Header.Get("Date"))
	return t
}

// explain adds advice to an error of connecting.
func (c *adminClient) explain(err error) error {
	var address *net.OpError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &untrusted):
		return fmt.Errorf("%w\nthe certificate is not from the authority trusted here: name the node's ca.pem with --ca or --data-dir", err)
	case errors.As(err, &address):
		return fmt.Errorf("%w\nis a node running, with its admin server at %s? start one with: ferry run", err, c.base)
	}
	return err
}
