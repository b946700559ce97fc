package admin

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// deadlined is a response writer with a write deadline.
type deadlined struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (d *deadlined) SetWriteDeadline(at time.Time) error {
	d.until = at
	return nil
}

// TestUpgradeRoute checks the responses, and that an upgrade may take longer than a client has for reading a response.
func TestUpgradeRoute(t *testing.T) {
	for _, row := range []struct {
		err  error
		want int
	}{
		{nil, http.StatusOK},
		{ErrUpgrading, http.StatusConflict},
		{errors.New("exit status 1"), http.StatusInternalServerError},
	} {
		w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
		mux := http.NewServeMux()
		upgradeRoute(mux, Config{Upgrade: func(context.Context) (Upgraded, error) {
			w.until = time.Time{} // the deadline of the request has passed meanwhile
			return Upgraded{PID: 1}, row.err
		}})
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/api/upgrade", nil))
		if w.Code != row.want {
			t.Errorf("%v: got status %d, want %d", row.err, w.Code, row.want)
		}
		if !w.until.After(time.Now()) {
			t.Errorf("%v: the response has a write deadline of %v", row.err, w.until)
		}
	}
}
