package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"
)

// ErrLoginsUnavailable means that the server of a LoginCallback has not said whether a login is right.
var ErrLoginsUnavailable = errors.New("edge: the login callback does not respond")

// The bounds of a LoginCallback.
const (
	DefaultLoginTimeout = 5 * time.Second
	maxLoginResponse    = 64 << 10 // bytes
	maxCallbacks        = 16       // requests at a time
)

// LoginCallback asks an HTTP server about the logins of users that the node does not know. The zero value asks nobody.
type LoginCallback struct {
	URL     string
	Timeout time.Duration // of one request; 0 means DefaultLoginTimeout
	Client  *http.Client  // nil means one that verifies TLS by the system's CAs
}

// LoginRequest is the body of the request: POST, as JSON.
type LoginRequest struct {
	User     string `json:"user"`
	Password string `json:"password"`
	Client   string `json:"client"`   // identifier that the client has chosen
	Address  string `json:"address"`  // HOST:PORT of the client
	Protocol string `json:"protocol"` // mqtt or web
}

// LoginGrants is the body of the response with status 200: what the client may do. 401 and 403 refuse it.
type LoginGrants struct {
	Identity  string   `json:"identity"` // whose grants it has, of the configuration; or
	Publish   []string `json:"publish"`
	Subscribe []string `json:"subscribe"`
}

// size returns what grants take, in bytes, or a little less.
func (g *LoginGrants) size() int {
	n := len(g.Identity)
	for _, filter := range slices.Concat(g.Publish, g.Subscribe) {
		n += len(filter) + 16 // of the header of a string
	}
	return n
}

// client returns a client that follows no redirection: a password goes to the URL only.
func (c LoginCallback) client() *http.Client {
	own := http.Client{}
	if c.Client != nil {
		own = *c.Client
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// ask returns the grants of a client, ErrPassword, or an error that wraps ErrLoginsUnavailable.
func (c LoginCallback) ask(r LoginRequest) (LoginGrants, error) {
	if !utf8.ValidString(r.User) || !utf8.ValidString(r.Password) || !utf8.ValidString(r.Client) { // JSON has no other text: another password would be asked about
		return LoginGrants{}, ErrPassword
	}
	timeout := c.Timeout
	if timeout == 0 {
		timeout = DefaultLoginTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	body, _ := json.Marshal(r) // of strings only
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return LoginGrants{}, fmt.Errorf("%w: %w", ErrLoginsUnavailable, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.Client.Do(request)
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the text of u has the URL, whose query may be a secret
	}
	if err != nil {
		return LoginGrants{}, fmt.Errorf("%w: %w", ErrLoginsUnavailable, err)
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return LoginGrants{}, ErrPassword
	default:
		return LoginGrants{}, fmt.Errorf("%w: its response has status %d: want 200, 401 or 403", ErrLoginsUnavailable, response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxLoginResponse+1))
	var g LoginGrants
	switch {
	case err != nil:
	case len(text) > maxLoginResponse:
		err = fmt.Errorf("a response of more than %d bytes", maxLoginResponse)
	default:
		if err = json.Unmarshal(text, &g); err == nil && (g.Identity != "") == (g.Publish != nil || g.Subscribe != nil) { // it may be a refusal of another kind of server
			err = errors.New("want either identity, or publish and subscribe")
		}
	}
	if err != nil {
		return LoginGrants{}, fmt.Errorf("%w: its response cannot be used: %w", ErrLoginsUnavailable, err)
	}
	return g, nil
}
