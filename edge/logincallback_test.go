package edge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/broker"
)

// ask returns the grants that a login is resolved with. Those with a filter "refused" cannot be granted.
func ask(l *Logins, r LoginRequest, secret string) (g LoginGrants, err error) {
	done := make(chan error, 1)
	resolve := func(granted LoginGrants) (*broker.Identity, error) {
		if slices.Contains(granted.Publish, "refused") {
			return nil, errUnusable
		}
		g = granted
		return &broker.Identity{}, nil
	}
	decided, _, err := l.Ask(r, []byte(secret), resolve, func(_ *broker.Identity, e error) { done <- e })
	if decided {
		return g, err
	}
	err = <-done
	return g, err
}

var errUnusable = errors.New("cannot be granted")

// TestLoginCallback: what the server is asked, and what its responses mean.
func TestLoginCallback(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		var got LoginRequest
		err := json.NewDecoder(r.Body).Decode(&got)
		want := LoginRequest{got.User, "secret", "c", "1.2.3.4:5", "mqtt"}
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.URL.Path != "/login" || got.Password != "wrong" && got != want {
			t.Errorf("%s %s: got %+v, %v", r.Method, r.URL, got, err)
		}
		switch {
		case got.Password == "wrong":
			w.WriteHeader(http.StatusUnauthorized)
		case got.User == "named":
			fmt.Fprint(w, `{"identity":"pumps","more":1}`)
		case got.User == "granted":
			fmt.Fprint(w, `{"publish":["a/#"],"subscribe":["b"]}`)
		case got.User == "forbidden":
			w.WriteHeader(http.StatusForbidden)
		case got.User == "moved":
			http.Redirect(w, r, "/login", http.StatusTemporaryRedirect)
		case got.User == "broken":
			w.WriteHeader(http.StatusInternalServerError)
		case got.User == "long":
			fmt.Fprintf(w, `{"identity":%q}`, strings.Repeat("x", maxLoginResponse))
		case got.User == "text":
			fmt.Fprint(w, "yes")
		case got.User == "null":
			fmt.Fprint(w, "null")
		case got.User == "denied":
			fmt.Fprint(w, `{"result":"deny"}`)
		case got.User == "both":
			fmt.Fprint(w, `{"identity":"pumps","subscribe":["a"]}`)
		case got.User == "unusable":
			fmt.Fprint(w, `{"publish":["refused"]}`)
		case got.User == "nothing":
			fmt.Fprint(w, `{"publish":[]}`)
		case got.User == "silent":
			<-release
		}
	}))
	defer server.Close()
	defer close(release)
	l := NewLogins(LoginCallback{URL: server.URL + "/login"})
	for user, row := range map[string]struct {
		want LoginGrants
		err  error
	}{
		"named": {LoginGrants{Identity: "pumps"}, nil}, "granted": {LoginGrants{Publish: []string{"a/#"}, Subscribe: []string{"b"}}, nil}, "forbidden": {LoginGrants{}, ErrPassword},
		"moved": {LoginGrants{}, ErrLoginsUnavailable}, "broken": {LoginGrants{}, ErrLoginsUnavailable}, "long": {LoginGrants{}, ErrLoginsUnavailable},
		"text": {LoginGrants{}, ErrLoginsUnavailable}, "null": {LoginGrants{}, ErrLoginsUnavailable}, "denied": {LoginGrants{}, ErrLoginsUnavailable},
		"both": {LoginGrants{}, ErrLoginsUnavailable}, "unusable": {LoginGrants{}, errUnusable}, "nothing": {LoginGrants{Publish: []string{}}, nil}, "\xff": {LoginGrants{}, ErrPassword},
	} {
		for again := range int64(2) {
			before := requests.Load()
			got, err := ask(l, LoginRequest{User: user, Client: "c", Address: "1.2.3.4:5", Protocol: "mqtt"}, "secret")
			if !reflect.DeepEqual(got, row.want) || !errors.Is(err, row.err) || (err == nil) != (row.err == nil) {
				t.Errorf("%q: got %+v, %v, want %+v, %v", user, got, err, row.want, row.err)
			}
			if asked := requests.Load() - before; asked != 1 && user != "\xff" && (row.err != nil || again == 0) || asked != 0 && row.err == nil && again == 1 {
				t.Errorf("%q, time %d: %d requests", user, again+1, asked)
			}
		}
	}
	for range ofUser {
		if _, err := ask(l, LoginRequest{User: "named", Client: "c", Address: "1.2.3.4:5"}, "wrong"); !errors.Is(err, ErrPassword) {
			t.Errorf("a wrong password: got %v", err)
		}
	}
	if _, err := ask(l, LoginRequest{User: "named", Client: "c", Address: "1.2.3.4:5", Protocol: "mqtt"}, "secret"); !errors.Is(err, ErrLoginsFailed) {
		t.Errorf("after %d failures: got %v", ofUser, err)
	}
	slow := NewLogins(LoginCallback{URL: server.URL + "/login", Timeout: 20 * time.Millisecond})
	if _, err := ask(slow, LoginRequest{User: "silent", Client: "c", Address: "1.2.3.4:5", Protocol: "mqtt"}, "secret"); !errors.Is(err, ErrLoginsUnavailable) {
		t.Errorf("a server that does not respond: got %v", err)
	}
	gone := NewLogins(LoginCallback{URL: "http://127.0.0.1:0/login?key=hidden"})
	if _, err := ask(gone, LoginRequest{User: "u"}, "secret"); !errors.Is(err, ErrLoginsUnavailable) || strings.Contains(err.Error(), "hidden") {
		t.Errorf("no server: got %v", err)
	}
}

// TestGrantsThatBecomeUnusable: grants that are remembered, and that a reload has made unusable, count as unusable, and the next login asks again.
func TestGrantsThatBecomeUnusable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"identity":"pumps"}`) }))
	defer server.Close()
	l := NewLogins(LoginCallback{URL: server.URL})
	for i, usable := range []bool{true, true, false, true} {
		ended := make(chan error, 1)
		resolve := func(LoginGrants) (*broker.Identity, error) {
			if !usable {
				return nil, errUnusable
			}
			return &broker.Identity{}, nil
		}
		decided, _, err := l.Ask(LoginRequest{User: "u", Address: "1.2.3.4:5"}, []byte("p"), resolve, func(_ *broker.Identity, err error) { ended <- err })
		if !decided {
			err = <-ended
		}
		if decided != (i == 1 || i == 2) || (err == nil) != usable {
			t.Errorf("login %d: decided %v, %v", i+1, decided, err)
		}
	}
	if _, got := l.Stats(); got != (LoginStats{Right: 2, Remembered: 1, Unusable: 1}) {
		t.Errorf("got %+v", got)
	}
}

// TestLoginCallbackBound: few requests are on their way, few logins wait, and passwords are compared meanwhile.
func TestLoginCallbackBound(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, maxCallbacks+waitingLogins), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	defer server.Close()
	l := NewLogins(LoginCallback{URL: server.URL})
	ended := make(chan error, maxCallbacks+waitingLogins)
	begin := func(host int) {
		resolve := func(LoginGrants) (*broker.Identity, error) { return nil, nil }
		l.Ask(LoginRequest{User: "u", Address: fmt.Sprintf("10.0.%d.%d:1", host/256, host%256)}, []byte("p"), resolve, func(_ *broker.Identity, err error) { ended <- err })
	}
	for i := range maxCallbacks + waitingLogins {
		begin(i)
	}
	for range maxCallbacks {
		<-arrived
	}
	if _, err := ask(l, LoginRequest{User: "u", Address: "10.9.9.9:1"}, "p"); !errors.Is(err, ErrLoginsBusy) {
		t.Errorf("one more: got %v", err)
	}
	if err := check(l, "dev", "10.9.9.8:1", "secret"); err != nil {
		t.Errorf("a password that is compared: got %v", err)
	}
	if n := len(arrived); n > 0 {
		t.Errorf("%d requests more than %d", n, maxCallbacks)
	}
	close(release)
	for range maxCallbacks + waitingLogins {
		if err := <-ended; !errors.Is(err, ErrLoginsUnavailable) { // an empty response
			t.Errorf("got %v", err)
		}
	}
}
