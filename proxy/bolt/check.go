package bolt

import (
	"slices"

	"example.com/ferry/internal/invalid"
	"example.com/ferry/proxy/route"
)

// CheckRoutes reports what of a table is of HTTP only and cannot be done for Bolt: nil or invalid.Errors, with fields as
// package route has them.
func CheckRoutes(t *route.Table) error {
	var errs invalid.Errors
	for _, r := range t.Routes() {
		f := &r.Forward
		for _, o := range []struct {
			is            bool
			field, reason string
		}{
			{r.Redirect != nil, "redirect", "Bolt has no redirects: forward to a cluster"},
			{r.Respond != nil, "respond", "a Bolt answer is an object of the client's language: forward to a cluster"},
			{f.Rewrite != route.Rewrite{}, "forward.rewrite", "a Bolt request has neither path nor host: leave it out"},
			{edits(f.Request), "forward.request", "headers of Bolt are passed on as they are: leave it out"},
			{edits(f.Response), "forward.response", "headers of Bolt are passed on as they are: leave it out"},
			{f.Retry != nil && len(f.Retry.Statuses) > 0, "forward.retry.statuses", "statuses are of HTTP: leave them out"},
			{f.Retry != nil && slices.ContainsFunc(f.Retry.On, ofHTTP), "forward.retry.on", "5xx and gateway-error are of HTTP: write connect-failure, reset or timeout"},
		} {
			if o.is {
				errs.Add("bolt", r.At+"."+o.field, "%s", o.reason)
			}
		}
	}
	return errs.Err()
}

func edits(e route.Edits) bool { return len(e.Set)+len(e.Add)+len(e.Remove) > 0 }

func ofHTTP(c route.Cause) bool { return c == route.On5xx || c == route.OnGatewayError }
