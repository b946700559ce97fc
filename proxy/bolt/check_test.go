package bolt

import (
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/invalid"
	"example.com/ferry/protocol/http1"
	"example.com/ferry/proxy/route"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  Config
		want string // field of the expected error
	}{
		{"zero", Config{}, ""},
		{"never idle", Config{IdleTimeout: -1}, ""},
		{"frame", Config{MaxFrame: 5}, "max_frame"},
		{"requests", Config{Requests: -1}, "requests"},
		{"queued", Config{MaxQueued: -1}, "max_queued"},
		{"frame timeout", Config{FrameTimeout: -time.Second}, "frame_timeout"},
		{"long frame timeout", Config{FrameTimeout: 8761 * time.Hour}, "frame_timeout"},
		{"long idle timeout", Config{IdleTimeout: 1<<63 - 1}, "idle_timeout"},
	} {
		checkField(t, tt.name, tt.cfg.Check(), tt.want)
	}
}

func TestCheckRoutes(t *testing.T) {
	t.Parallel()
	pairs := []http1.Pair{{Name: "a", Value: "b"}}
	retry := func(r route.Retry) *route.Retry { return &r }
	for _, tt := range []struct {
		name string
		rule route.Rule
		want string
	}{
		{"fine", route.Rule{Cluster: "c", Forward: route.Forward{Retry: retry(route.Retry{On: []route.Cause{route.OnReset}})}}, ""},
		{"redirect", route.Rule{Redirect: &route.Redirect{Host: "h"}}, "virtual_hosts[0].routes[0].redirect"},
		{"respond", route.Rule{Respond: &route.Response{Status: 200}}, "virtual_hosts[0].routes[0].respond"},
		{"rewrite", route.Rule{Cluster: "c", Forward: route.Forward{Rewrite: route.Rewrite{Host: "h"}}}, "virtual_hosts[0].routes[0].forward.rewrite"},
		{"request", route.Rule{Cluster: "c", Forward: route.Forward{Request: route.Edits{Set: pairs}}}, "virtual_hosts[0].routes[0].forward.request"},
		{"response", route.Rule{Cluster: "c", Forward: route.Forward{Response: route.Edits{Remove: []string{"a"}}}}, "virtual_hosts[0].routes[0].forward.response"},
		{"statuses", route.Rule{Cluster: "c", Forward: route.Forward{Retry: retry(route.Retry{Statuses: []int{503}})}}, "virtual_hosts[0].routes[0].forward.retry.statuses"},
		{"causes", route.Rule{Cluster: "c", Forward: route.Forward{Retry: retry(route.Retry{On: []route.Cause{route.On5xx}})}}, "virtual_hosts[0].routes[0].forward.retry.on"},
	} {
		tt.rule.Name = "r"
		table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: []route.Rule{tt.rule}}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkField(t, tt.name, CheckRoutes(table), tt.want)
	}
}

// checkField expects one error for field want, or no error if want is empty.
func checkField(t *testing.T, name string, err error, want string) {
	t.Helper()
	var errs invalid.Errors
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case want == "":
	case !errors.As(err, &errs) || len(errs) != 1 || errs[0].Field != want || !strings.HasPrefix(err.Error(), "bolt: "):
		t.Errorf("%s: %v, want one error about %q", name, err, want)
	}
}
